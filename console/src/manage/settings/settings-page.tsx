/** `/settings/…`: what a person arranges about themselves. */
import { Link, Navigate, useParams } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { NotHere } from '../../ui/not-here.tsx'
import { SectionsPage } from '../sections-page.tsx'
import { KeysSection } from './keys/keys-section.tsx'
import { NotificationsSection } from './notifications-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileSection } from './profile-section.tsx'
import { SessionsSection } from './sessions/sessions-section.tsx'
import './settings.css'
import { SignaturesSection } from './signatures/signatures-section.tsx'

type Name = keyof typeof settingsTexts.sections

const SECTIONS: Readonly<Record<Name, ComponentType>> = {
  profile: ProfileSection,
  password: PasswordSection,
  notifications: NotificationsSection,
  signatures: SignaturesSection,
  sessions: SessionsSection,
  keys: KeysSection,
}

export function SettingsPage() {
  const { _splat: name = '' } = useParams({ strict: false })
  if (name === '') return <Navigate to="/settings/$" params={{ _splat: 'profile' }} replace />
  return Object.hasOwn(SECTIONS, name) ? <Opened key={name} name={name as Name} /> : <NotHere />
}

function Opened({ name }: { name: Name }) {
  const Section = SECTIONS[name]
  return (
    <SectionsPage of={settingsTexts.title} links={LINKS} title={settingsTexts.sections[name]}>
      <Section />
    </SectionsPage>
  )
}

const LINKS = (Object.keys(SECTIONS) as Name[]).map((name) => (
  <Link key={name} to="/settings/$" params={{ _splat: name }}>
    {settingsTexts.sections[name]}
  </Link>
))
