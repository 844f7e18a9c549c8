/** What a person may do with a comment, by the rules of the service, which has the last word. */
import { atOf } from '../../ui/locale/zones.ts'

/** How long a comment may be edited, in milliseconds. */
const EDIT_MS = 15 * 60_000

interface Written {
  user_id: number
  api_key_id: number | null
  created_at: string
}

const isOwn = ({ user_id, api_key_id }: Written, me: number): boolean => api_key_id === null && user_id === me

/** How long the person may still edit the comment, in milliseconds; 0 if not. Only its author may, and the service counts whole seconds. */
export function editLeftMs(comment: Written, me: number, mayWrite: boolean, now: Date): number {
  if (!mayWrite || !isOwn(comment, me)) return 0
  const left = atOf(comment.created_at) + EDIT_MS - Math.floor(now.getTime() / 1000) * 1000
  // A clock that is behind must not give more time than there is.
  return Math.max(0, Math.min(left, EDIT_MS))
}

/** The author and admins of the space may delete a comment. */
export const mayDelete = (comment: Written, me: number, role: 'admin' | 'member' | 'viewer'): boolean =>
  role === 'admin' || (role === 'member' && isOwn(comment, me))
