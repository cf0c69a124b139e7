const Page = () => <h1>Sources</h1>;

export default Page;
