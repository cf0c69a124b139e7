const Page = () => <h1>Applications</h1>;

export default Page;
