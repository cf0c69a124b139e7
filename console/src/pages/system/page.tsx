const Page = () => <h1>System</h1>;

export default Page;
