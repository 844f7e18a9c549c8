/** What stands around every page of a person who is signed in. */
import { useQuery } from '@tanstack/react-query'
import { Outlet, useParams, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { MeContext, meQuery } from '../../session/me.ts'
import { useSessionState } from '../../session/use-session-state.ts'
import { QuickAddHost } from '../../tasks/quick-add/quick-add-host.tsx'
import { appTexts } from '../../texts/app.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { useKeys } from '../../ui/keys/keys.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { ToastList } from '../../ui/toasts/toast-list.tsx'
import { showTheme } from '../theme.ts'
import { useSignOut } from './foot.tsx'
import { ReleaseNotice } from './release-notice.tsx'
import { useIsSideBarHidden, useRecentTables, useTheme, withRecent } from './remembered.ts'
import { SideBar } from './side-bar.tsx'
import './shell.css'

const SignInAgain = lazyPart(async () => ({ default: (await import('./sign-in-again.tsx')).SignInAgain }))
const Palette = lazyPart(async () => ({ default: (await import('../palette/palette.tsx')).Palette }))
const KeysDialog = lazyPart(async () => ({ default: (await import('./keys-dialog.tsx')).KeysDialog }))

export function Shell() {
  const { data: me } = useQuery(meQuery(useClient()))
  return <MeContext value={me ?? null}>{me && <Frame />}</MeContext>
}

function Frame() {
  const session = useSessionState()
  const { history } = useRouter()
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const hidden = useIsSideBarHidden()
  const { signOut } = useSignOut()
  useRememberedTheme()
  useNotedTable()
  useKeys(appTexts.everywhere, [
    { keys: 'Ctrl+K', does: appTexts.openPalette, run: () => setPaletteOpen(true) },
    { keys: '?', does: appTexts.showKeys, run: () => setHelpOpen(true) },
    // In a grid `?` is typed into the cell.
    { keys: 'Ctrl+/', does: appTexts.showKeys, run: () => setHelpOpen(true) },
    { keys: '[', does: appTexts.toggleMenu, run: () => hidden.set(!hidden.value) },
  ])
  // The menu closes with each move. A page that leads on to another by itself, as `/` does, is none.
  useEffect(() => history.subscribe(({ action }) => action.type !== 'REPLACE' && setMenuOpen(false)), [history])

  return (
    <div className="shell" data-side-bar={hidden.value ? 'hidden' : undefined} data-menu={isMenuOpen ? 'open' : undefined}>
      <button type="button" className="skip" onClick={skip}>
        {appTexts.skip}
      </button>
      <header className="top-bar">
        <button
          type="button"
          className="button quiet icon-only"
          aria-label={isMenuOpen ? appTexts.closeMenu : appTexts.openMenu}
          aria-expanded={isMenuOpen}
          aria-controls="side-bar"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name={isMenuOpen ? 'x' : 'panel-left'} />
        </button>
        {appTexts.product}
      </header>
      <SideBar
        find={() => setPaletteOpen(true)}
        showKeys={() => setHelpOpen(true)}
        hide={() => (isMenuOpen ? setMenuOpen(false) : hidden.set(true))}
        close={() => setMenuOpen(false)}
      />
      {isMenuOpen && (
        <button type="button" className="menu-veil" aria-label={appTexts.closeMenu} tabIndex={-1} onClick={() => setMenuOpen(false)} />
      )}
      <div className="content" id="content">
        {hidden.value && (
          <button
            type="button"
            className="button quiet icon-only small show-side-bar"
            aria-label={appTexts.toggleMenu}
            onClick={() => hidden.set(false)}
          >
            <Icon name="panel-left" />
          </button>
        )}
        <ReleaseNotice />
        <Outlet />
      </div>
      <QuickAddHost page={appTexts.everywhere} does={appTexts.addTask} />
      <ToastList />
      {(session === 'ended' || session === 'other') && <SignInAgain />}
      {isPaletteOpen && <Palette close={() => setPaletteOpen(false)} actions={[{ does: appTexts.signOut, run: signOut }]} />}
      {isHelpOpen && <KeysDialog close={() => setHelpOpen(false)} />}
    </div>
  )
}

/** Moves the focus past the side bar. */
function skip(): void {
  const main = document.querySelector<HTMLElement>('#content main')
  main?.setAttribute('tabindex', '-1')
  main?.focus()
}

function useRememberedTheme(): void {
  const { value, isPending } = useTheme()
  useEffect(() => {
    if (!isPending) showTheme(value)
  }, [value, isPending])
}

/** Puts the table that is open at the head of the recent ones. */
function useNotedTable(): void {
  const { tableId } = useParams({ strict: false })
  const { value, set, isPending } = useRecentTables()
  const id = Number(tableId)
  const isNoted = isPending || !Number.isSafeInteger(id) || value[0] === id
  useEffect(() => {
    if (!isNoted) set(withRecent(value, id))
  }, [isNoted, id, value, set])
}
