/** A program of another team, with the client that orval writes of openapi.json. It is given a key. */
import {
  commentsCreate,
  commentsList,
  type RecordsQuery,
  recordsCount,
  recordsCreate,
  recordsExplain,
  recordsQuery,
  recordsUpdate,
  spacesCreate,
  tablesCreate,
  tasksCreateOnRecord,
  tasksGet,
  tasksMarkDone,
} from './client.ts'

declare const process: { argv: string[] }
const init = { headers: { authorization: `Bearer ${process.argv[2]}` } }

/** The body of an answer, or an error that says why there is none. */
function bodyOf<Answer extends { status: number; data: unknown }>(answer: Answer): Extract<Answer, { status: 200 }>['data'] {
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.data))
  return answer.data
}

/** The rows of a list, which may have an envelope. */
const rowsOf = <Row>(list: Row[] | { rows: Row[] }): Row[] => (Array.isArray(list) ? list : list.rows)

const space = bodyOf(await spacesCreate({ name: 'Made by orval' }, init))
const table = bodyOf(await tablesCreate(space.id, { name: 'Deals', fields: [{ name: 'Company', type: 'text' }] }, init))
const record = bodyOf(await recordsCreate(table.id, { data: { company: 'Quay' } }, init))
const updated = bodyOf(await recordsUpdate(table.id, record.id, { data: { company: 'Harbour' } }, init))
const query: RecordsQuery = { filters: [{ column: 'company', compare: '=', value: 'Harbour' }] }
const records = bodyOf(await recordsQuery(table.id, query, {}, init))
if (!Array.isArray(records)) throw new Error('Only a query with `explain` is answered by an explanation')
const explained = bodyOf(await recordsExplain(table.id, query, init))
const counted = bodyOf(await recordsCount(table.id, query, init))
const task = bodyOf(await tasksCreateOnRecord(table.id, record.id, { title: 'Call them' }, init))
const marked = bodyOf(await tasksMarkDone(task.id, init))
await commentsCreate(table.id, record.id, { content: 'Called' }, init)
const comments = bodyOf(await commentsList(table.id, record.id, { limit: 5 }, init))
const refused = await tasksGet(987_654, init)

console.log(
  JSON.stringify({
    updated: updated.title,
    records: records.map(({ company }) => company),
    explained: explained.predicate,
    count: counted.count,
    task: [task.title, marked.status],
    comments: rowsOf(comments).map(({ content }) => content),
    refused: { status: refused.status, code: refused.status === 404 && refused.data.code },
  }),
)
