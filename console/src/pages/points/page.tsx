const Page = () => <h1>Explore points</h1>;

export default Page;
