const Page = () => <h1>Outcomes</h1>;

export default Page;
