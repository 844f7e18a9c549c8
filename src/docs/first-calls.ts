/** The first calls that somebody makes, in the languages of the first page. The ids are those of the demo account. */
import { BASE } from './samples.ts'

/** Stands in a sample for the reader's key. */
export const KEY = '{{key}}'

export interface Language {
  name: string
  code: string
}

export const FIRST_CALL: Language[] = [
  {
    name: 'curl',
    code: `export GRIDPOST_KEY=${KEY}

curl ${BASE}/api/spaces/list \\
  -H "Authorization: Bearer $GRIDPOST_KEY"`,
  },
  {
    name: 'TypeScript',
    code: `// npm install ${BASE}/client.tgz
// export GRIDPOST_KEY=${KEY}
import { createClient } from 'gridpost-client'

const client = createClient({ baseUrl: '${BASE}', apiKey: process.env.GRIDPOST_KEY })
const { rows: spaces } = await client.spaces.list.query({})
console.log(spaces)`,
  },
  {
    name: 'Python',
    code: `# pip install requests
# export GRIDPOST_KEY=${KEY}
import os
import requests

gridpost = requests.Session()
gridpost.headers["Authorization"] = f"Bearer {os.environ['GRIDPOST_KEY']}"

spaces = gridpost.get("${BASE}/api/spaces/list")
spaces.raise_for_status()
print(spaces.json())`,
  },
]

export const SECOND_CALL: Language[] = [
  {
    name: 'curl',
    code: `curl ${BASE}/api/table/4/records/query \\
  -H "Authorization: Bearer $GRIDPOST_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"view_id": 8, "fields": ["name", "company"], "limit": 5}'

curl ${BASE}/api/tasks/onRecord/4/1/create \\
  -H "Authorization: Bearer $GRIDPOST_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"title": "Call about the offer", "due_date": "2027-01-15"}'`,
  },
  {
    name: 'TypeScript',
    code: `const { rows: contacts } = await client.records.query.query({
  table_id: 4,
  view_id: 8,
  fields: ['name', 'company'],
  limit: 5,
})

const task = await client.tasks.createOnRecord.mutate({
  table_id: 4,
  record_id: 1,
  title: 'Call about the offer',
  due_date: '2027-01-15',
})`,
  },
  {
    name: 'Python',
    code: `contacts = gridpost.post(
    "${BASE}/api/table/4/records/query",
    json={"view_id": 8, "fields": ["name", "company"], "limit": 5},
).json()

task = gridpost.post(
    "${BASE}/api/tasks/onRecord/4/1/create",
    json={"title": "Call about the offer", "due_date": "2027-01-15"},
).json()`,
  },
]
