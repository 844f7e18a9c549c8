/**
 * The links of mails to pages with a form. What follows the # reaches no server and no proxy: the token, and the address of the person,
 * which the page shows and gives to password managers.
 */

/** @param base the address of the service without a trailing slash @param path the path of the page, such as `/reset` */
export const linkToForm = (base: string, path: string, { token, email }: { token: string; email: string }): string =>
  `${base}${path}#${token}&email=${encodeURIComponent(email)}`

/** The token of what a page has sent: pages of other frontends may send all that follows the #. */
export const tokenOfLink = (sent: string): string => sent.split('&', 1)[0] ?? ''
