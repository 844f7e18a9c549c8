/** The person who is signed in. */
import { queryOptions } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import type { Client, Outputs } from './client.ts'

export type Me = Outputs['auth']['me']

export const meQuery = (client: Client) => queryOptions({ queryKey: ['me'], queryFn: () => client.auth.me.query(), staleTime: 60_000 })

export const MeContext = createContext<Me | null>(null)

/** @throws Error on pages that are shown without signing in */
export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('Nobody is signed in: render this inside of MeContext')
  return me
}
