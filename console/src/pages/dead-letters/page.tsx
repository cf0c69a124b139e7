const Page = () => <h1>Dead letters</h1>;

export default Page;
