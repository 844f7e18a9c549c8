/** The tasks of a list, page by page as one scrolls. Pages that are out of sight are read again when they come into sight. */
import { keepPreviousData, useQueries } from '@tanstack/react-query'
import type { TaskInContext } from 'gridpost-client'
import { useState } from 'react'
import { type Client, useClient } from '../../session/client.ts'
import type { ListSearch } from './list-search.ts'

const PAGE = 100

export interface TaskPages {
  tasks: readonly TaskInContext[]
  total: number
  isPending: boolean
  error: unknown
  refetch(): void
}

export function useTaskPages(search: ListSearch) {
  const client = useClient()
  const key = JSON.stringify([search.list, search.search, search.done])
  const [wanted, setWanted] = useState({ key, pages: 1, from: 0, to: 0 })
  const { pages, from, to } = wanted.key === key ? wanted : { pages: 1, from: 0, to: 0 }
  const found = useQueries({
    queries: Array.from({ length: pages }, (_, page) => pageQuery(client, search, page, page >= from && page <= to)),
    combine,
  })
  return {
    ...found,
    /** True once all of the list is read. */
    isWhole: !found.isPending && pages * PAGE >= found.total,
    /** Says which tasks are in sight, by their places in the list. */
    see(first: number, last: number) {
      const [near, far] = [Math.max(0, Math.floor(first / PAGE)), Math.max(0, Math.floor(last / PAGE))]
      const most = Math.max(1, Math.ceil(found.total / PAGE))
      const next = { key, pages: Math.min(most, Math.max(pages, far + 1)), from: near, to: Math.min(most - 1, far) }
      if (next.pages !== pages || next.from !== from || next.to !== to) setWanted(next)
    },
  }
}

function pageQuery(client: Client, { list, search, done }: ListSearch, page: number, isInSight: boolean) {
  const asked = {
    tab: list,
    include_done: done,
    limit: PAGE,
    offset: page * PAGE,
    include: ['context'] as const,
    ...(search && { search }),
  }
  return {
    queryKey: ['tasks', 'list', list, search, done, page],
    queryFn: async ({ signal }: { signal: AbortSignal }) => client.tasks.list.query(asked, { signal }),
    staleTime: 30_000,
    // A page that nobody has read is read, wherever it is, because the groups before the ones in sight count it.
    enabled: ({ state }: { state: { data: unknown } }) => isInSight || state.data === undefined,
    ...(page === 0 && { placeholderData: keepPreviousData }),
  }
}

interface Found {
  data?: { rows: TaskInContext[]; total?: number | undefined } | undefined
  isPending: boolean
  error: unknown
  refetch(): unknown
}

function combine(pages: readonly Found[]): TaskPages {
  const tasks = new Map<number, TaskInContext>()
  // Pages are read at different times, so that a task can be on two of them.
  for (const { data } of pages) for (const task of data?.rows ?? []) tasks.set(task.id, task)
  const total = pages[0]?.data?.total ?? 0
  return {
    tasks: [...tasks.values()],
    total,
    isPending: pages.some(({ isPending }) => isPending),
    error: pages.find(({ error }) => error)?.error ?? null,
    refetch: () => {
      for (const page of pages) if (page.error) void page.refetch()
    },
  }
}
