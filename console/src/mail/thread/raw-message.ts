import type { Client } from '../../session/client.ts'

const KEPT_MS = 60_000

/** Saves the message that became the comment as a file. @throws TRPCClientError as every call, such as 404 once it is not kept any more */
export async function saveRaw(client: Client, commentId: number): Promise<void> {
  const answer = await client.downloadRaw({ comment_id: commentId })
  const address = URL.createObjectURL(await answer.blob())
  const link = document.createElement('a')
  link.href = address
  link.download = `mail-${commentId}.eml`
  link.click()
  // The browser may begin to read it after the click.
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
