/** The file name under which a browser saves a response. */

/**
 * The header Content-Disposition (RFC 6266), with an ASCII name for old clients and the real one for all others.
 * @param name of the file. Any characters are safe: they are encoded, so the name cannot end the header or contain a folder
 */
export function disposition(kind: 'inline' | 'attachment', name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
