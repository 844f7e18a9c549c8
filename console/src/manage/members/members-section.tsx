/** The people of a space: who is in it and what they may do, who was invited, and how they are added and removed. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { useLive } from '../../session/live/use-live.ts'
import { useMe } from '../../session/me.ts'
import { type Space, usePlaces } from '../../session/places.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { Fetched } from '../fetched.tsx'
import { AddMember } from './add-member.tsx'
import { MemberRow } from './member-row.tsx'
import './members.css'
import { type Member, membersQuery, type Role } from './members-query.ts'

/** Fewer are found at a glance. */
const MANY = 10

export function MembersSection({ space }: { space: Space }) {
  const client = useClient()
  const query = useQuery(membersQuery(client, space.id))
  const isAdmin = space.role === 'admin'
  const [text, setText] = useState('')
  const [removing, setRemoving] = useState<Member | null>(null)
  const { readAgain, change, send, remove } = useMembers(space)
  useLiveMembers(space, readAgain)
  const members = query.data ?? []
  const found = members.filter(({ name, email }) => hasWords(`${name} ${email}`, text))
  return (
    <>
      <p>{isAdmin ? spaceTexts.membersWhy : `${spaceTexts.membersWhy} ${spaceTexts.onlyAdmins}`}</p>
      {isAdmin && <AddMember space={space} done={readAgain} />}
      {members.length > MANY && <TextField label={spaceTexts.search} type="search" value={text} change={setText} autoComplete="off" />}
      <Fetched query={query} />
      {members.length > 0 && !found.length && <p className="hint">{spaceTexts.nobodyFound}</p>}
      <ul className="things members" aria-label={spaceTexts.list}>
        {found.map((member) => (
          <MemberRow key={member.user_id} {...{ member, isAdmin, change, send }} remove={setRemoving} />
        ))}
      </ul>
      {removing && <Removal member={removing} remove={remove} close={() => setRemoving(null)} />}
    </>
  )
}

function Removal({ member, remove, close }: { member: Member; remove: (member: Member) => Promise<void>; close: () => void }) {
  const { id } = useMe()
  return (
    <ConfirmDialog
      title={spaceTexts.removeAsk(member.name)}
      action={spaceTexts.remove}
      run={() => remove(member)}
      wordsOf={messageOf}
      close={close}
    >
      <p>{member.user_id === id ? spaceTexts.removeSelfWhy : spaceTexts.removeWhy}</p>
    </ConfirmDialog>
  )
}

const hasWords = (known: string, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => known.toLowerCase().includes(word))

/** What an admin does with members. */
function useMembers({ id }: Space) {
  const client = useClient()
  const queries = useQueryClient()
  const readAgain = () => queries.invalidateQueries({ queryKey: ['members', id] })
  const refused = (error: unknown) => void toast(messageOf(error))
  return {
    readAgain,
    change: ({ user_id, name }: Member, role: Role) =>
      void client.spaces.updateMember
        .mutate({ space_id: id, user_id, role })
        .then(() => void toast(spaceTexts.roleChanged(name, spaceTexts.roles[role])), refused)
        .finally(() => Promise.all([readAgain(), queries.invalidateQueries({ queryKey: ['spaces'] })])),
    /** Mails another link to somebody who was invited. */
    send: ({ email, role }: Member) =>
      void client.spaces.addMember
        .mutate({ space_id: id, email, role })
        .then(() => void toast(spaceTexts.inviteSent(email)), refused)
        .finally(readAgain),
    remove: async ({ user_id, name }: Member) => {
      await client.spaces.removeMember.mutate({ space_id: id, user_id })
      toast(spaceTexts.removed(name))
      await Promise.all([readAgain(), queries.invalidateQueries({ queryKey: ['spaces'] })])
    },
  }
}

/** Changes of members are told with those of a table of the space. */
function useLiveMembers({ id }: Space, readAgain: () => unknown): void {
  const { places } = usePlaces()
  const table = places.find((space) => space.id === id)?.tables[0]?.id
  useLive(() => void readAgain(), { types: ['members'], ...(table !== undefined && { tables: [table] }) })
}
