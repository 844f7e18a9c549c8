/** Parts that hold a message or files in a form of their own: opaque S/MIME, winmail.dat, and files of Macs in two forks. */
import { contentOfCms } from '../enclosures/cms.ts'
import { isTnef, readTnef } from '../enclosures/tnef.ts'
import { fileNameOf, type MimeNode, madeLeaf, typeOf } from './tree.ts'

/** The message in opaque S/MIME (RFC 8551 §3.2); undefined for other parts, and for an encrypted message. */
export function signedMessage(node: MimeNode): Buffer | undefined {
  const isSigned = /^application\/(x-)?pkcs7-mime$/.test(typeOf(node)) || /\.p7m$/i.test(fileNameOf(node))
  return isSigned && node.content ? contentOfCms(new Uint8Array(node.content)) : undefined
}

/**
 * Puts the files of winmail.dat in its place. One that is damaged stays, beside the files that could be read.
 * @returns its text, which is not in the tree
 */
export function unpackTnef(node: MimeNode): MimeNode | undefined {
  const content = new Uint8Array(node.content ?? new ArrayBuffer(0))
  const tnef = isTnef(content) ? readTnef(content) : undefined
  if (!tnef) return undefined
  if (tnef.isWhole) node.content = null
  node.childNodes = [...node.childNodes, ...tnef.files.map((file) => madeLeaf(node, file))]
  return tnef.text ? madeLeaf(node, { type: 'text/plain', charset: 'utf-8', content: Buffer.from(tnef.text) }) : undefined
}

const isResourceFork = (node: MimeNode): boolean => typeOf(node) === 'application/applefile'

/** The parts without the resource forks of files that are there (Apple Double, RFC 1740), so that each file is listed once. */
export function withoutResourceForks({ contentType, childNodes }: MimeNode): MimeNode[] {
  const files = childNodes.filter((child) => !isResourceFork(child))
  if (/^(x-)?apple-?double$/.test(contentType.multipart || '')) return files.length ? files : childNodes
  const names = new Set(files.map(fileNameOf))
  return childNodes.filter((child) => !isResourceFork(child) || !names.has(fileNameOf(child).replace(/^\._|^%/, '')))
}
