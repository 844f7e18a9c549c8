import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

const olivia = { name: 'Olivia Owner', email: 'owner@demo.example' }

export const docs = operationDocs('Sign-in', {
  methods: {
    summary: 'List the ways to sign in',
    description:
      'For the page that signs people in. `demo` lists the users of the demo account, and is there only for programs on the machine of ' +
      'the service, to whom `/dev/mail` answers without a token: they sign in with `auth/demo`.',
    example: { output: { password: true, setup: false, demo: [{ ...olivia, role: 'owner' }] } },
  },

  demo: {
    summary: 'Sign in to the demo account',
    description:
      'Signs in a user of the demo account without a password, and sets the same cookies as `auth/login`. It is 404 for every other ' +
      'address, and for every caller to whom `/dev/mail` does not answer without a token.',
    example: {
      input: { email: olivia.email },
      output: { id: 1, ...olivia, timezone: 'UTC', account_id: 1, is_owner: true, mail_preference: 'digest' },
    },
    errors: { 404: 'Demo user not found' },
  },
})
