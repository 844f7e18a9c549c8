/** The typed client, which every feature gets by `useClient`. */
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import { type AppRouter, type Client, createClient } from 'gridpost-client'
import { createContext, useContext } from 'react'
import { sessionHeaders } from './session.ts'
import { waitingForSession } from './waiting-calls.ts'

export type { Client } from 'gridpost-client'
export type Inputs = inferRouterInputs<AppRouter>
export type Outputs = inferRouterOutputs<AppRouter>

/** Creates the client of this page. The service that serves the page answers its calls, and the session's cookie is sent with them. */
export const createPageClient = (): Client =>
  waitingForSession(createClient({ baseUrl: location.origin, exactNumbers: true, headers: sessionHeaders }))

export const ClientContext = createContext<Client | null>(null)

/** @throws Error outside of the app, which provides the client */
export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client) throw new Error('The client is missing: render this inside of ClientContext')
  return client
}
