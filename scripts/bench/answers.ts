/** Compares the answers of the servers: only servers with the same answer do the same work. */
import { isDeepStrictEqual } from 'node:util'
import type { Case } from './case.ts'
import { headersOf, type Target } from './drive.ts'
import type { Answer, Peer } from './others/peer.ts'

/** Ours and bare must give identical answers, other products the same rows or number. @throws Error with the answers that differ */
export async function compareAnswers(one: Case, targets: readonly Target[]): Promise<void> {
  const answers = await Promise.all(
    targets.map(async (target) => {
      const init = { method: target.method, headers: headersOf(target, 1), ...(target.body && { body: JSON.stringify(target.body(1)) }) }
      const answer = await fetch(target.url + target.path(1), init)
      const body = (await answer.json()) as Record<string, unknown>
      if (!answer.ok) throw new Error(`${one.name} (${target.name}) answers ${answer.status}: ${JSON.stringify(body)}`)
      for (const row of Array.isArray(body) ? body : [body]) for (const key of one.ignore ?? []) delete row[key]
      return { name: target.name, body }
    }),
  )
  const [ours, bare, ...others] = answers
  mustEqual(one.name, ours, bare)
  for (const { name, body } of others) {
    const { read, readBare } = one.others?.[name as Peer['name']] ?? {}
    if (read && readBare) mustEqual(one.name, { name, body: read(body as Answer) }, { name: 'bare', body: readBare(bare?.body) })
  }
}

interface Named {
  name: string
  body: unknown
}

function mustEqual(name: string, one: Named | undefined, other: Named | undefined): void {
  if (isDeepStrictEqual(one?.body, other?.body)) return
  const shown = [one, other].map((answer) => `${answer?.name} ${JSON.stringify(answer?.body)?.slice(0, 3000)}`)
  throw new Error(`${name}: the answers differ\n${shown.join('\n')}`)
}
