/** The state of the session, for what is shown by it. */
import { useSyncExternalStore } from 'react'
import { listenToSession, type SessionState, sessionState } from './session.ts'

export const useSessionState = (): SessionState => useSyncExternalStore(listenToSession, sessionState)
