/** Every address of the page, and what is shown there. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  useRouter,
} from '@tanstack/react-router'
import { tableDataQuery } from '../grid/table-data.ts'
import { tableSearch } from '../grid/table-search.ts'
import { recordSearch } from '../record/record-address.ts'
import type { Client } from '../session/client.ts'
import { isSignedOut, messageOf } from '../session/errors.ts'
import { type Me, meQuery } from '../session/me.ts'
import { spacesQuery } from '../session/places.ts'
import { preferencesQuery } from '../session/preferences.ts'
import { isSessionOpen, openSession } from '../session/session.ts'
import { taskSearch, tasksSearch } from '../tasks/list/list-search.ts'
import { appTexts } from '../texts/app.ts'
import { NotHere } from '../ui/not-here.tsx'
import { Loading, Notice } from '../ui/notice.tsx'
import { SignInPage } from './entry/sign-in-page.tsx'
import { isNotLoaded, isReleaseNew, reload } from './release.ts'
import { HomePage, RetryButton } from './shell/home-page.tsx'
import { Shell } from './shell/shell.tsx'

interface Context {
  client: Client
  queries: QueryClient
}

const root = createRootRouteWithContext<Context>()({ component: Outlet })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  // A value that is left out would stay as it is in the address.
  validateSearch: ({ to }: Record<string, unknown>): { to?: string | undefined } => ({ to: isAddress(to) ? to : undefined }),
  component: SignIn,
})

/** An address of the console: others would let a link lead away after signing in. */
const isAddress = (to: unknown): to is string => typeof to === 'string' && /^\/(?![/\\])/.test(to) && to !== '/'

function SignIn() {
  const { to = '/' } = signIn.useSearch()
  return <SignInPage done={useSignedIn(to)} />
}

/** What follows once somebody has signed in: nothing is left of whoever was here before. */
function useSignedIn(to: string): (me: Me) => void {
  const { queries, client } = root.useRouteContext()
  const { history } = useRouter()
  return (me) => {
    queries.clear()
    queries.setQueryData(meQuery(client).queryKey, me)
    openSession(me.id, { isNew: true })
    history.replace(to)
  }
}

const SetUpPage = lazyRouteComponent(() => import('./entry/set-up-page.tsx'), 'SetUpPage')

const setUp = createRoute({ getParentRoute: () => root, path: '/setup', component: () => <SetUpPage done={useSignedIn('/')} /> })

const TableRoute = lazyRouteComponent(() => import('./table-route.tsx'), 'TableRoute')

const SettingsPage = lazyRouteComponent(() => import('../manage/settings/settings-page.tsx'), 'SettingsPage')
const SpacePage = lazyRouteComponent(() => import('../manage/spaces/space-page.tsx'), 'SpacePage')
const InboxPage = lazyRouteComponent(() => import('../inbox/inbox-page.tsx'), 'InboxPage')

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: Shell,
  beforeLoad: async ({ context: { client, queries }, location: to }) => {
    // What every page needs is asked for together with the person, in one request.
    void queries.prefetchQuery(preferencesQuery(client))
    void queries.prefetchQuery(spacesQuery(client))
    const [, tableId] = /^\/table\/(\d+)/.exec(to.pathname) ?? []
    if (tableId !== undefined) {
      void TableRoute.preload?.()
      void queries.prefetchQuery(tableDataQuery(client, queries, Number(tableId)))
    }
    try {
      const { id } = await queries.ensureQueryData(meQuery(client))
      // A session that has ended since is opened by signing in again only.
      if (!isSessionOpen()) openSession(id)
    } catch (error) {
      if (isSignedOut(error)) throw redirect({ to: '/sign-in', search: to.href === '/' ? {} : { to: to.href }, replace: true })
      throw error
    }
  },
})

const TaskPage = lazyRouteComponent(() => import('../tasks/task/task-page.tsx'), 'TaskPage')
const TasksPage = lazyRouteComponent(() => import('../tasks/list/tasks-page.tsx'), 'TasksPage')

const routes = root.addChildren([
  signIn,
  setUp,
  signedIn.addChildren([
    createRoute({ getParentRoute: () => signedIn, path: '/', component: HomePage }),
    createRoute({ getParentRoute: () => signedIn, path: '/table/$tableId', validateSearch: tableSearch, component: TableRoute }),
    createRoute({
      getParentRoute: () => signedIn,
      path: '/table/$tableId/view/$viewId',
      validateSearch: tableSearch,
      component: TableRoute,
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: '/table/$tableId/record/$recordId',
      validateSearch: recordSearch,
      component: lazyRouteComponent(() => import('./record-route.tsx'), 'RecordRoute'),
    }),
    createRoute({ getParentRoute: () => signedIn, path: '/task/$taskId', validateSearch: taskSearch, component: TaskPage }),
    createRoute({ getParentRoute: () => signedIn, path: '/tasks', validateSearch: tasksSearch, component: TasksPage }),
    createRoute({ getParentRoute: () => signedIn, path: '/inbox', component: InboxPage }),
    createRoute({ getParentRoute: () => signedIn, path: '/settings/$', component: SettingsPage }),
    createRoute({ getParentRoute: () => signedIn, path: '/spaces/$spaceId/$', component: SpacePage }),
  ]),
])

export function createPageRouter(context: Context) {
  const router = createRouter({
    routeTree: routes,
    context,
    defaultNotFoundComponent: NotHere,
    defaultPendingComponent: () => <Loading text={appTexts.loading} />,
    defaultErrorComponent: Failed,
  })
  // The address is that of the next page already.
  router.subscribe('onBeforeLoad', ({ pathChanged }) => {
    if (pathChanged && isReleaseNew()) location.reload()
  })
  return router
}

function Failed({ error }: { error: unknown }) {
  const router = useRouter()
  return (
    <Notice
      title={appTexts.failed}
      isAlert
      actions={<RetryButton retry={() => void (isNotLoaded(error) ? reload() : router.invalidate())} />}
    >
      <p>{messageOf(error)}</p>
    </Notice>
  )
}

// The addresses and their parameters are known to links in every feature.
declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
