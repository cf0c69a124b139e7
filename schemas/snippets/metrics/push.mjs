const answer = await fetch('http://127.0.0.1:10205/v2/push/', {
  method: 'POST',
  body: JSON.stringify({
    data_id: 1500002,
    access_token: '<token>',
    data: [
      {
        metrics: { cpu_load: 10.5 },
        target: '127.0.0.1',
        dimension: { module: 'db' },
        timestamp: Date.now(),
      },
    ],
  }),
  signal: AbortSignal.timeout(10_000),
});
console.log(answer.status, await answer.text());
