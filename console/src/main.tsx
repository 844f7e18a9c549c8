/** Starts the console in the page. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchRelease } from './app/release.ts'
import { createPageRouter } from './app/router.tsx'
import { showKeptTheme } from './app/theme.ts'
import { ClientContext, createPageClient } from './session/client.ts'
import { errorData } from './session/errors.ts'
import { listenForKeys } from './ui/keys/keys.ts'

/** One that does not answer is waited for 3 s, and one that says itself that it has too much to do for 15 s. */
const [MOST_RETRIES, MOST_RETRIES_IF_BUSY] = [2, 4] as const

const root = document.getElementById('root')
if (!root) throw new Error('The page has no element for the console')

const client = createPageClient()
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // What the service has refused, it refuses again. One that is away or too busy may be back soon.
      retry: (failures, error) => {
        const status = errorData(error)?.httpStatus
        const isBusy = status === 429 || status === 503
        return (status ?? 503) >= 429 && failures < (isBusy ? MOST_RETRIES_IF_BUSY : MOST_RETRIES)
      },
    },
  },
})
const router = createPageRouter({ client, queries })

showKeptTheme()
watchRelease()
listenForKeys()
createRoot(root).render(
  <StrictMode>
    <ClientContext value={client}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </ClientContext>
  </StrictMode>,
)
