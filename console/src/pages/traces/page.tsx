const Page = () => <h1>Explore traces</h1>;

export default Page;
