/**
 * Puts a follow-up task on every contact of the view "Due this week". Running it again creates no second task:
 * each task carries an id of our own, and `upsert` finds it by that id.
 *
 *   GRIDPOST_KEY=gp_… npx node examples/follow-ups.ts
 */
import { createClient } from 'gridpost-client' // npm install http://127.0.0.1:3000/client.tgz

const client = createClient({ baseUrl: process.env.GRIDPOST_URL ?? 'http://127.0.0.1:3000', apiKey: process.env.GRIDPOST_KEY ?? '' })

const { table_id, view_id } = await findView('Contacts', 'Due this week')
const { rows: contacts } = await client.records.query.query({ table_id, view_id, limit: 1000 })

for (const { id: record_id, name, next_contact } of contacts) {
  const task = await client.tasks.createOnRecord.mutate({
    table_id,
    record_id,
    title: `Call ${name}`,
    due_date: String(next_contact),
    external_id: `follow-up-${record_id}-${next_contact}`,
    upsert: true,
  })
  console.log(`${task.due_date}  ${task.title}  (task ${task.id}, ${task.status})`)
}

/** Names are for people and ids for programs: a program of your own would rather keep the ids in its settings. */
async function findView(tableName: string, viewName: string): Promise<{ table_id: number; view_id: number }> {
  for (const { id: space_id } of (await client.spaces.list.query({})).rows) {
    const { rows: tables } = await client.tables.list.query({ space_id })
    const table = tables.find(({ name }) => name === tableName)
    if (!table) continue
    const { rows: views } = await client.views.list.query({ table_id: table.id })
    const view = views.find(({ name }) => name === viewName)
    if (view) return { table_id: table.id, view_id: view.id }
  }
  throw new Error(`The key reaches no table ${tableName} with a view ${viewName}`)
}
