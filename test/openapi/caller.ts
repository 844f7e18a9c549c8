/** A program of another team, which knows openapi.json alone. It is given the address of the service and a key. */
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

declare const process: { argv: string[] }
const [baseUrl = '', key = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } })

/** The body of an answer, or an error that says why there is none. */
function bodyOf<Body>({ data, error }: { data?: Body; error?: { message: string } }): Body {
  if (error || data === undefined) throw new Error(error?.message ?? 'No answer')
  return data
}

const space = bodyOf(await client.POST('/api/spaces/create', { body: { name: 'Made from the document' } }))
const table = bodyOf(
  await client.POST('/api/space/{space_id}/tables/create', {
    params: { path: { space_id: space.id } },
    body: { name: 'Deals', fields: [{ name: 'Company', type: 'text' }] },
  }),
)
const inTable = { params: { path: { table_id: table.id } } }
const record = bodyOf(await client.POST('/api/table/{table_id}/records/create', { ...inTable, body: { data: { company: 'Harbour' } } }))
const task = bodyOf(
  await client.POST('/api/tasks/onRecord/{table_id}/{record_id}/create', {
    params: { path: { table_id: table.id, record_id: record.id } },
    body: { title: 'Call them' },
  }),
)
const query: paths['/api/table/{table_id}/records/query']['post']['requestBody']['content']['application/json'] = {
  filters: [{ column: 'company', compare: '=', value: 'Harbour' }],
}
const records = bodyOf(await client.POST('/api/table/{table_id}/records/query', { ...inTable, body: query }))
const explained = bodyOf(await client.POST('/api/table/{table_id}/records/explain', { ...inTable, body: query }))
const { error, response } = await client.GET('/api/task/{task_id}/get', { params: { path: { task_id: 987_654 } } })

console.log(
  JSON.stringify({
    records: records.map(({ company }) => company),
    explained: explained.predicate,
    task: task.title,
    refused: { status: response.status, code: error?.code },
  }),
)
