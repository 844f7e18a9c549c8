/** A program of another team, which knows openapi.json alone. It is given a key and the address of the service. */
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.js'

declare const process: { argv: string[] }
const [key = '', baseUrl = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } })

/** The body of an answer, or an error that says why there is none. */
function bodyOf<Body>({ data, error }: { data?: Body; error?: { message: string } }): Body {
  if (error || data === undefined) throw new Error(error?.message ?? 'No answer')
  return data
}

/** The rows of a list, which may have an envelope. */
const rowsOf = <Row>(list: Row[] | { rows: Row[] }): Row[] => (Array.isArray(list) ? list : list.rows)

const space = bodyOf(await client.POST('/api/spaces/create', { body: { name: 'Made from the document' } }))
const table = bodyOf(
  await client.POST('/api/space/{space_id}/tables/create', {
    params: { path: { space_id: space.id } },
    body: { name: 'Deals', fields: [{ name: 'Company', type: 'text' }] },
  }),
)
const inTable = { params: { path: { table_id: table.id } } }
const record = bodyOf(await client.POST('/api/table/{table_id}/records/create', { ...inTable, body: { data: { company: 'Quay' } } }))
const onRecord = { params: { path: { table_id: table.id, record_id: record.id } } }
const updated = bodyOf(
  await client.POST('/api/table/{table_id}/record/{record_id}/update', { ...onRecord, body: { data: { company: 'Harbour' } } }),
)
const task = bodyOf(await client.POST('/api/tasks/onRecord/{table_id}/{record_id}/create', { ...onRecord, body: { title: 'Call them' } }))
const marked = bodyOf(await client.POST('/api/task/{task_id}/markDone', { params: { path: { task_id: task.id } } }))
bodyOf(await client.POST('/api/table/{table_id}/record/{record_id}/comments/create', { ...onRecord, body: { content: 'Called' } }))
const comments = bodyOf(
  await client.GET('/api/table/{table_id}/record/{record_id}/comments/get', { params: { ...onRecord.params, query: { envelope: true } } }),
)
const query: components['schemas']['RecordsQuery'] = {
  filters: [{ column: 'company', compare: '=', value: 'Harbour' }],
}
const records = bodyOf(await client.POST('/api/table/{table_id}/records/query', { ...inTable, body: query }))
if (!Array.isArray(records)) throw new Error('Only a query with `explain` is answered by an explanation')
const explained = bodyOf(await client.POST('/api/table/{table_id}/records/explain', { ...inTable, body: query }))
const counted = bodyOf(await client.POST('/api/table/{table_id}/records/count', { ...inTable, body: query }))
const { error, response } = await client.GET('/api/task/{task_id}/get', { params: { path: { task_id: 987_654 } } })

console.log(
  JSON.stringify({
    updated: updated.title,
    records: records.map(({ company }) => company),
    explained: explained.predicate,
    count: counted.count,
    task: [task.title, marked.status],
    comments: rowsOf(comments).map(({ content }) => content),
    refused: { status: response.status, code: error?.code },
  }),
)
