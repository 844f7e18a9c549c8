/** Names that are kept in two spellings of the same letters, because in NFC they would be the same. */
import { NORMALIZED } from '../../src/tables/definition-cache.ts'
import { counted, type Examined, type Finding, findingOf } from './finding.ts'

/** What is left of the tables whose texts have been normalised, and the ids that a migration has left. */
const LEFT = `
  select 'option "' || (o.entry ->> 'title') || '" of field ' || f.id || ' in table ' || f.table_id as name
    from public.fields f join public.tables t on t.id = f.table_id
    cross join jsonb_array_elements(case when jsonb_typeof(f.options) = 'array' then f.options else '[]' end) as o (entry)
    where t.layout >= ${NORMALIZED} and o.entry ->> 'title' is not nfc normalized
  union all select 'field "' || f.name || '" of table ' || f.table_id from public.fields f join public.tables t on t.id = f.table_id
    where t.layout >= ${NORMALIZED} and f.name is not nfc normalized
  union all select 'view "' || v.name || '" of table ' || v.table_id from public.views v join public.tables t on t.id = v.table_id
    where t.layout >= ${NORMALIZED} and v.name is not nfc normalized
  union all select 'table "' || t.name || '" of space ' || t.space_id from public.tables t
    where t.layout >= ${NORMALIZED} and t.deleted_at is null and t.name is not nfc normalized
  union all select 'external_id "' || k.external_id || '" of task ' || k.id from public.tasks k
    where k.external_id is not null and k.external_id is not nfc normalized
  order by name`

export async function checkSpellings({ database }: Examined): Promise<Finding[]> {
  const left = await database.rows<{ name: string }>(LEFT)
  return findingOf(
    left.map(({ name }) => name),
    {
      check: 'names.spelled_twice',
      severity: 'warning',
      problem: (count) => `${counted(count, 'name')} in another spelling of Unicode than NFC, because another name has that one`,
      advice: 'Requests name the other one. Rename or remove one of the two.',
    },
  )
}
