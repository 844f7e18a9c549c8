/** Senders and domains as lines of text, as an admin writes them. */

export interface Sender {
  name: string
  email: string
}

export const linesOf = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter(Boolean)

/** `Sales <sales@example.com>`, or the address alone, each in a line of its own. The service judges the address. */
export const readSenders = (text: string): Sender[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [, name = '', email = line] = /^(.*?)\s*<([^<>]*)>$/.exec(line) ?? []
      return { name: name.replace(/^"(.*)"$/, '$1'), email: email.trim() }
    })

export const writtenSender = ({ name, email }: Sender): string => (name ? `${name} <${email}>` : email)

/** The domains of the senders, which are allowed without naming them twice. */
export const withDomainsOf = (senders: readonly Sender[], domains: readonly string[]): string[] => {
  const known = new Set(domains.map((domain) => domain.toLowerCase()))
  const own = senders.map(({ email }) => email.split('@')[1]?.toLowerCase() ?? '').filter((domain) => domain && !known.has(domain))
  return [...domains, ...new Set(own)]
}
