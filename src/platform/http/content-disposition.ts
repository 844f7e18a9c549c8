/** How an answer of bytes is called when it is saved. */

/**
 * The header Content-Disposition (RFC 6266): a plain name for old clients, the true one for all others.
 * @param name of the file; whatever it holds cannot leave the header, nor name a folder
 */
export function disposition(kind: 'inline' | 'attachment', name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
