/** The list of audited actions. The API document and docs/audit.md are made from it. */

interface AuditedAction {
  /** The type of the object that the row names. */
  object: string
  means: string
  /** The keys of `detail`, for readers of the log. */
  detail?: string
}

export const ACTIONS = {
  'sign_in.succeeded': { object: 'user', means: 'A user signed in.', detail: '`failures`: how many wrong passwords came before, if any' },
  'sign_in.failed': {
    object: 'user',
    means:
      'Somebody sent a wrong password for a user, to sign in or to change the password. Of many in a row the log has the first five, ' +
      'then one each time that their number has doubled.',
    detail: '`failures`: how many in a row',
  },
  'session.ended': { object: 'session', means: 'A user signed out, or ended another of their sessions.' },
  'password.changed': { object: 'user', means: 'A user changed their password, which ended their other sessions.' },
  'password.reset_requested': { object: 'user', means: 'Somebody requested a link for a new password, which was mailed to the user.' },
  'password.reset': { object: 'user', means: 'A user set a new password with such a link, which ended all their sessions.' },
  'password.set': { object: 'user', means: 'An operator set the password of a user.' },
  'address.change_requested': { object: 'user', means: 'A user asked for another address.' },
  'address.changed': { object: 'user', means: 'A user confirmed the new address with the link that was mailed to it.' },
  'invitation.accepted': { object: 'user', means: 'An invited person set a name and a password, and signed in.' },
  'account.created': { object: 'account', means: 'An operator, or the first owner of the service, created the account.' },
  'user.created': { object: 'user', means: 'An operator added a user to the account.' },
  'account.owner_changed': {
    object: 'account',
    means: 'The account was handed to another owner.',
    detail: '`owner`, `before`: ids of users',
  },
  'user.disabled': {
    object: 'user',
    means: 'A user was disabled, which ended their sessions and personal keys, and dropped their emails that waited.',
    detail: '`sessions`, `keys`, `mails`: how many',
  },
  'user.enabled': { object: 'user', means: 'A disabled user was enabled.' },
  'user.erased': {
    object: 'user',
    means: 'A user was erased for good: name and address, sessions, personal keys and signatures; their emails that waited were dropped.',
    detail: '`sessions`, `keys`, `signatures`, `mails`: how many',
  },
  'user.updated': { object: 'user', means: 'A user changed their profile.', detail: '`changed`: names of properties' },

  'key.created': { object: 'key', means: 'A key was created.', detail: '`kind` and its rights' },
  'key.updated': { object: 'key', means: 'The name or the rights of a key were changed.', detail: 'the new values' },
  'key.rotated': { object: 'key', means: 'A key got a new secret.' },
  'key.deleted': { object: 'key', means: 'A key was revoked.' },

  'space.created': { object: 'space', means: 'A space was created.' },
  'space.updated': { object: 'space', means: 'A space was renamed.', detail: '`before`: the old name' },
  'space.deleted': { object: 'space', means: 'A space was deleted. It can be restored for seven days.' },
  'space.restored': { object: 'space', means: 'An operator restored a deleted space.' },
  'space.placed': { object: 'space', means: 'An operator placed the records of a space on a node.', detail: '`node`' },
  'space.moved': { object: 'space', means: 'An operator moved the records of a space to another node.', detail: '`node`, `before`' },
  'space.purged': { object: 'space', means: 'A deleted space was removed for good.' },
  'member.added': { object: 'user', means: 'A user became a member of a space.', detail: '`role`; `invited`: true for a new user' },
  'member.invited_again': { object: 'user', means: 'A member who had not accepted the invitation was mailed another one.' },
  'member.updated': { object: 'user', means: 'A member got another role.', detail: '`role`, `before`' },
  'member.removed': { object: 'user', means: 'A member was removed from a space.', detail: '`role`' },

  'table.created': { object: 'table', means: 'A table was created.', detail: '`fields`: their number' },
  'table.updated': { object: 'table', means: 'A table was renamed.', detail: '`before`: the old name' },
  'table.deleted': { object: 'table', means: 'A table was deleted with its records. It can be restored for seven days.' },
  'table.restored': { object: 'table', means: 'An operator restored a deleted table.' },
  'table.purged': { object: 'table', means: 'A deleted table was removed for good.' },
  'field.created': { object: 'field', means: 'A field was added to a table.', detail: '`type`' },
  'field.updated': { object: 'field', means: 'A field was changed.', detail: '`changed`: names of properties; `force`' },
  'field.deleted': { object: 'field', means: 'A field was deleted with its values.', detail: '`type`, `force`' },
  'field.conversion_started': { object: 'field', means: 'A change of the type was requested.', detail: '`from`, `to`, `job_id`' },
  'field.converted': {
    object: 'field',
    means: 'The job has changed the type. Without this row it refused to, or failed.',
    detail: '`from`, `to`, `job_id`',
  },
  'fields.reordered': { object: 'table', means: 'The fields of a table were reordered.' },
  'view.created': { object: 'view', means: 'A view was saved.', detail: '`type`' },
  'view.updated': { object: 'view', means: 'A view was changed.', detail: '`changed`: names of properties' },
  'view.deleted': {
    object: 'view',
    means: 'A view was deleted, also because a field that it needs was deleted or converted.',
    detail: '`type`',
  },

  'records.deleted': {
    object: 'record',
    means: 'Records were deleted with their tasks, comments and files; one row for each request, or batch of a job.',
    detail: '`count`, `record_ids`',
  },
  'records.restored': {
    object: 'record',
    means: 'Deleted records were restored with what belonged to them.',
    detail: '`count`, `record_ids`',
  },
  'records.imported': { object: 'table', means: 'A CSV file was imported.', detail: '`count`' },
  'file.deleted': { object: 'record', means: 'Files were removed from a field of a record.', detail: '`field_id`' },
  'file.restored': { object: 'file', means: 'An admin restored a dropped file.', detail: '`field_id` and `record_id`, or `task_id`' },
  'comment.deleted': { object: 'comment', means: 'A comment was deleted.', detail: '`record_id` or `task_id`' },
  'task.deleted': { object: 'task', means: 'A task was deleted.', detail: '`record_id`' },

  'integration.created': { object: 'integration', means: 'An SMTP integration was created.', detail: '`host`, `port`, `tls`' },
  'integration.updated': { object: 'integration', means: 'An SMTP integration was changed.', detail: '`changed`: names of properties' },
  'integration.deleted': { object: 'integration', means: 'An SMTP integration was deleted.' },
  'suppression.removed': {
    object: 'suppression',
    means: 'An admin let mail go again to an address that was suppressed.',
    detail: '`reason`: why it was suppressed',
  },
  'signature.created': { object: 'signature', means: 'A user created an email signature.' },
  'signature.updated': { object: 'signature', means: 'A user changed an email signature.', detail: '`changed`: names of properties' },
  'signature.deleted': { object: 'signature', means: 'A user deleted an email signature.' },

  'email.cancelled': { object: 'email', means: 'An email was cancelled before it was sent.' },
  'email.retried': { object: 'email', means: 'An email was queued again for recipients that were dropped.' },
  'inbound_email.replayed': {
    object: 'inbound_email',
    means: 'An operator had a stored message read again, which changed what it was read as.',
    detail: '`before`, `verdict`, `comment_id`',
  },

  'export.csv': { object: 'table', means: 'Records were exported as CSV.', detail: '`view_id`' },
  'export.user': { object: 'user', means: 'What is kept about a user was exported, by the owner or by the user.' },
  'export.audit': { object: 'account', means: 'The audit log was exported.', detail: 'the filters' },
} as const satisfies Record<string, AuditedAction>

export type Action = keyof typeof ACTIONS
export const ACTION_NAMES = Object.keys(ACTIONS) as [Action, ...Action[]]
