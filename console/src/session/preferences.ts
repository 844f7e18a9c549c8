/** What a person has arranged for themselves, on the server, so that it is there on every machine. */
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { type Client, type Outputs, useClient } from './client.ts'

type Rows = Outputs['preferences']['list']['rows']

export const preferencesQuery = (client: Client) =>
  queryOptions({
    queryKey: ['preferences', 'console'],
    queryFn: async () => (await client.preferences.list.query({ prefix: 'console.' })).rows,
    staleTime: 60_000,
  })

/** The last change of each preference that is on its way: one change waits for the one before, so that the last one counts. */
const sending = new Map<string, Promise<void>>()

/**
 * A preference and how to change it. A change is shown at once; one that the service refuses is taken back with the next list.
 * @param name such as `console.starred`
 * @param read what a stored value means; it may be from another release, or undefined if there is none
 */
export function usePreference<Value>(name: `console.${string}`, read: (stored: unknown) => Value) {
  const client = useClient()
  const queries = useQueryClient()
  const options = preferencesQuery(client)
  const { data, isPending } = useQuery(options)
  const value = read(data?.find((row) => row.name === name)?.value)
  const set = useCallback(
    (next: Value) => {
      const row = { name, value: next, version: 0, updated_at: '' } as Rows[number]
      const show = () => queries.setQueryData<Rows>(options.queryKey, (rows = []) => [...rows.filter((one) => one.name !== name), row])
      // A list that is on its way may be older than the change.
      if (queries.getQueryData(options.queryKey)) void queries.cancelQueries({ queryKey: options.queryKey }).then(show)
      else show()
      const sent = (sending.get(name) ?? Promise.resolve())
        .then(() => client.preferences.update.mutate({ name, value: next }))
        .then(
          () => undefined,
          () => queries.invalidateQueries({ queryKey: options.queryKey }),
        )
      sending.set(name, sent)
    },
    [client, queries, name, options.queryKey],
  )
  return { value, set, isPending }
}
