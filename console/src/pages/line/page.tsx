const Page = () => <h1>Line</h1>;

export default Page;
