/** A person of a space, with their role and what an admin can do. */
import { Avatar } from '../../cells/shown.tsx'
import { useMe } from '../../session/me.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { type Member, ROLES, type Role } from './members-query.ts'

interface Props {
  member: Member
  isAdmin: boolean
  change: (member: Member, role: Role) => void
  send: (member: Member) => void
  remove: (member: Member) => void
}

export function MemberRow({ member, isAdmin, change, send, remove }: Props) {
  const { user_id, name, email, role, status } = member
  const isMe = useMe().id === user_id
  const isInvited = status === 'invited'
  return (
    <li>
      {isInvited ? <Icon name="mail" /> : <Avatar id={user_id} name={name} />}
      <div>
        <b dir="auto">{name}</b>
        {isMe && <span className="thing-mark">{spaceTexts.you}</span>}
        {isInvited && <span className="thing-mark">{spaceTexts.invited}</span>}
        {email !== name && <p className="hint">{email}</p>}
      </div>
      <div className="thing-actions">
        {isInvited && isAdmin && (
          <button type="button" className="button small" aria-label={spaceTexts.againTo(email)} onClick={() => send(member)}>
            {spaceTexts.again}
          </button>
        )}
        {isAdmin ? (
          <>
            <select
              aria-label={spaceTexts.roleOf(name)}
              title={spaceTexts.rolesMean[role]}
              value={role}
              onChange={({ target }) => change(member, target.value as Role)}
            >
              {ROLES.map((one) => (
                <option key={one} value={one}>
                  {spaceTexts.roles[one]}
                </option>
              ))}
            </select>
            <button type="button" className="button small" aria-label={spaceTexts.removeOf(name)} onClick={() => remove(member)}>
              {spaceTexts.remove}
            </button>
          </>
        ) : (
          <span title={spaceTexts.rolesMean[role]}>{spaceTexts.roles[role]}</span>
        )}
      </div>
    </li>
  )
}
