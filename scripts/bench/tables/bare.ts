/** The bare server of the suite "tables". Each table has its own text, so no statement is prepared. */
import { openBare, optionTitles } from '../bare.ts'

const {
  setting: { tableId },
  pool,
  app,
  listen,
} = openBare<{ tableId: number }>()
// The options of all tables are the same.
const titles = await optionTitles(pool, tableId)

interface Row extends Record<string, unknown> {
  id: number
  status: number
  tags: number[]
}

const person = (column: string) =>
  `(select json_build_object('id', u.id, 'email', u.email, 'name', u.name) from users u where u.id = r.${column}) as ${column}`

app.post<{ Params: { id: string } }>('/query/:id', async ({ params }) => {
  const { rows } = await pool.query<Row>(
    `select r.id, r.name, r.email, r.phone, r.status, r.tags, r.amount, r.due, r.met, r.active, r.city, r.notes, ${person('owner')},
      r.created_at, ${person('created_by')}, r.updated_at, ${person('updated_by')}
    from "t${Number(params.id)}".records r where r.status = $1 and r.due <= $2 order by r.due desc nulls last, r.id desc limit 100`,
    [1, new Date().toISOString().slice(0, 10)],
  )
  return rows.map(({ status, tags, ...row }) => ({
    ...row,
    status: titles.status?.get(status),
    tags: tags.map((tag) => titles.tags?.get(tag)),
  }))
})

await listen()
