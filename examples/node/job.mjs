// Spawn a job, watch it and finish it: npm install pg, then node job.mjs
import pg from "pg";

const db = new pg.Client(process.env.PYCORTEX_DATABASE_URL);
const ask = async (text, ...values) => (await db.query(text, values)).rows[0];
await db.connect();

db.on("notification", ({ payload }) => console.log(payload)) && await ask("listen cortex_jobs");
const { uuid } = await ask("select * from cortex.spawn_job('greet', 'node', $1)", { name: "Ada" });
await ask("select cortex.set_running($1)", uuid);
await ask("select cortex.step($1, 1, 2, 'half way')", uuid);
await ask("select cortex.finish_job($1, 'succeeded', result => $2)", uuid, { text: "Hello Ada" });
console.log(await ask("select status, progress_current, result from cortex.find_job($1)", uuid));

await db.end();
