export type Api = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<unknown>

/** Calls the service with a key or a session. Throws an error for a refused request. */
export function api(url: string, credentials: Record<string, string>): Api {
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { ...credentials, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const json = await answer.json()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`)
    return json
  }
}
