/** The pages that mails link to, and the one where such a mail is asked for: an invitation, and a new password. */
import type { FastifyInstance } from 'fastify'
import { type FormPage, mountFormPages, passwordField, START, textField } from '../platform/http/pages/form-page.ts'

const PAGES: FormPage[] = [
  {
    path: '/invite',
    title: 'Join Gridpost',
    intro: 'You were invited as <b data-value="email"></b>.',
    hasToken: true,
    fields: [
      textField({
        name: 'name',
        label: 'Your name',
        attributes: 'autocomplete="name" required maxlength="100"',
        wrong: 'Enter your name, as others should see it.',
      }),
      passwordField({ name: 'password', label: 'Choose a password' }),
    ],
    button: 'Accept the invitation',
    operation: '/api/auth/acceptInvite',
    sendsTimeZone: true,
    done: {
      title: 'You have joined',
      text: 'Welcome, <b data-value="name"></b>. You are signed in as <b data-value="email"></b>.',
      next: START,
    },
    expired: {
      title: 'This invitation is not valid any more',
      text:
        'It works once, for 14 days, and until another one is sent. If you have a password already, sign in with it. If not, ask the ' +
        'person who invited you for another one.',
      next: START,
    },
  },
  {
    path: '/reset',
    title: 'Set a new password',
    intro: 'For your account <b data-value="email"></b>.',
    hasToken: true,
    fields: [passwordField({ name: 'password', label: 'Your new password' })],
    button: 'Set the password',
    operation: '/api/auth/reset',
    done: {
      title: 'Your new password is set.',
      text: 'You are signed out everywhere. Sign in with the new password from now on.',
      next: START,
    },
    expired: {
      title: 'This link is not valid any more',
      text: 'It works once and for an hour, and ends when the password is changed in another way.',
      next: { text: 'Get another link', href: '/forgot' },
    },
  },
  {
    path: '/confirm',
    title: 'Confirm your new address',
    intro: 'You sign in with <b data-value="email"></b> from then on, and get your mail there.',
    hasToken: true,
    fields: [],
    button: 'Confirm the address',
    operation: '/api/auth/email/confirm',
    done: {
      title: 'Your new address is confirmed',
      text: 'Sign in with <b data-value="email"></b> from now on. We have told your old address.',
      next: START,
    },
    expired: {
      title: 'This link is not valid any more',
      text: 'It works once and for an hour, and ends when you change your password. Change your address again to get another one.',
      next: START,
    },
  },
  {
    path: '/forgot',
    title: 'Forgot your password?',
    intro: 'We mail you a link, with which you set a new one.',
    hasToken: false,
    fields: [
      textField({
        name: 'email',
        label: 'Your email address',
        attributes: 'type="email" autocomplete="username email" required maxlength="254" spellcheck="false" autocapitalize="none"',
        wrong: 'Enter an email address, such as name@example.com.',
      }),
    ],
    button: 'Mail me a link',
    operation: '/api/auth/forgot',
    done: {
      title: 'Look into your mailbox',
      text:
        'If <b data-value="email"></b> has an account, a mail with a link is on its way. It can take a minute, and may be in the folder ' +
        'for spam. The link works once and for an hour.',
      next: { text: 'Use another address', href: '/forgot' },
    },
  },
]

export function mountLinkPages(app: FastifyInstance): void {
  mountFormPages(app, PAGES)
}
