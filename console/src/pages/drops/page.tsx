const Page = () => <h1>Drops</h1>;

export default Page;
