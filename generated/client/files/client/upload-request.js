/**
 * Uploads of the typed client. The bytes are the body of a PUT, because an RPC call has at most 4 MB. The file runs in browsers and in
 * Node, so it imports nothing of the server.
 */
import { TRPCClientError } from '@trpc/client';
import { addressOf, resultOf } from './rest-call.js';
/** The uploads by the name of their procedure, with the path of the operation. Input that is not in the path goes into the query. */
export const UPLOAD_PATHS = {
    'files.create': '/api/table/{table_id}/record/{record_id}/files/create',
    'comments.upload': '/api/table/{table_id}/record/{record_id}/comments/upload',
    'tasks.upload': '/api/task/{task_id}/upload',
    'tasks.comments.upload': '/api/task/{task_id}/comments/upload',
    'tasks.stage': '/api/tasks/upload',
    'tasks.stageOnRecord': '/api/tasks/onRecord/{table_id}/{record_id}/upload',
};
/**
 * Uploads a file.
 * @returns the answer of the procedure: a list as `rows`
 * @throws TRPCClientError with the body of the error in `data`; without `data` if the upload was aborted or the service did not answer
 */
export function upload(transport, name, input, file, { idempotencyKey, ...options }) {
    return sendBytes(transport, { method: 'PUT', path: UPLOAD_PATHS[name], input }, file, options, () => ({
        'content-type': typeOf(file) || 'application/octet-stream',
        'content-disposition': `attachment; filename*=UTF-8''${encodeName(file.name)}`,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    }));
}
/** The media type of a file, or '' if it has none. */
export function typeOf(file) {
    const content = contentOf(file);
    return ('content' in file && file.type) || (content instanceof Blob && content.type) || '';
}
const contentOf = (file) => ('content' in file ? file.content : file);
/**
 * Sends bytes as the body of a request.
 * @param headersOf the headers of the request; a name that cannot be sent fails as the request does
 * @throws as `upload`
 */
export async function sendBytes({ baseUrl, headers, fetch }, { method, path, input }, file, { onProgress, signal }, headersOf) {
    try {
        signal?.throwIfAborted();
        const content = contentOf(file);
        const sending = {
            method,
            url: baseUrl + addressOf(path, input),
            headers: { ...headers(), ...headersOf() },
            content,
            total: isWhole(content) ? sizeOf(content) : (('content' in file ? file.size : undefined) ?? null),
            onProgress,
            signal,
        };
        const isWatched = onProgress && !fetch && XMLHttpRequest;
        const answer = isWatched ? await byXhr(new XMLHttpRequest(), sending) : await byFetch(sending, fetch ?? globalThis.fetch);
        return resultOf(answer);
    }
    catch (error) {
        throw TRPCClientError.from(error);
    }
}
/** The value of `filename*` (RFC 8187). @throws URIError for half a surrogate pair */
const encodeName = (name) => encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
// ── fetch ───────────────────────────────────────────────────────────────────
/** True in Node. Browsers can send a stream only over HTTP/2, which they use only with TLS. */
const sendsStreams = 'process' in globalThis && !('document' in globalThis);
async function byFetch(sending, fetch) {
    const { method, url, headers, content, total, onProgress, signal } = sending;
    const chunks = sendsStreams && (onProgress || !isWhole(content)) ? chunksOf(content) : undefined;
    try {
        const response = await fetch(url, {
            method,
            credentials: 'include',
            headers: { ...headers, ...(chunks && total !== null && { 'content-length': String(total) }) },
            body: chunks ? streamOf(chunks, sending) : await asBody(content),
            ...(chunks && { duplex: 'half' }),
            ...(signal && { signal }),
        });
        const answer = { status: response.status, text: await response.text() };
        if (!chunks && total !== null)
            onProgress?.({ sent: total, total });
        return answer;
    }
    finally {
        // Node's fetch leaves the body open after an abort or an early answer. `return` would wait for a pending read, so it is not awaited.
        chunks?.return(undefined).catch(() => { });
    }
}
/** Collects content that cannot be sent as a stream. A browser keeps a large Blob on disk. */
async function asBody(content) {
    if (isWhole(content))
        return content;
    const chunks = [];
    for await (const chunk of chunksOf(content))
        chunks.push(new Uint8Array(chunk));
    return new Blob(chunks);
}
const isWhole = (content) => content instanceof Blob || content instanceof ArrayBuffer || content instanceof Uint8Array;
const sizeOf = (content) => (content instanceof Blob ? content.size : content.byteLength);
const CHUNK_BYTES = 256 * 1024;
/** The bytes in small pieces, so that they report progress. */
async function* chunksOf(content) {
    for await (const bytes of partsOf(content))
        for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
            yield bytes.subarray(start, start + CHUNK_BYTES);
}
async function* partsOf(content) {
    if (content instanceof Uint8Array)
        yield content;
    else if (content instanceof ArrayBuffer)
        yield new Uint8Array(content);
    else if (content instanceof Blob || content instanceof ReadableStream) {
        // Not every browser can iterate over a stream.
        const reader = (content instanceof Blob ? content.stream() : content).getReader();
        try {
            for (let next = await reader.read(); !next.done; next = await reader.read())
                yield next.value;
        }
        finally {
            await reader.cancel();
        }
    }
    else
        yield* content;
}
/** Makes a stream of the chunks, and reports progress as they are taken. */
function streamOf(chunks, { total, onProgress }) {
    let sent = 0;
    return new ReadableStream({
        async pull(controller) {
            const { done, value } = await chunks.next();
            if (done)
                return controller.close();
            controller.enqueue(value);
            sent += value.byteLength;
            onProgress?.({ sent, total });
        },
    });
}
/** Browsers report the progress of an upload only through this class, which Node and service workers do not have. */
const { XMLHttpRequest } = globalThis;
async function byXhr(request, { method, url, headers, content, onProgress, signal }) {
    const body = await asBody(content);
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
        const abort = () => {
            request.abort();
            reject(signal?.reason);
        };
        request.open(method, url);
        request.withCredentials = true;
        for (const [key, value] of Object.entries(headers))
            request.setRequestHeader(key, value);
        request.upload.onprogress = ({ loaded, total }) => onProgress?.({ sent: loaded, total });
        request.onload = () => resolve({ status: request.status, text: request.responseText });
        request.onerror = () => reject(new TypeError('The upload failed before the service answered'));
        request.onloadend = () => signal?.removeEventListener('abort', abort);
        signal?.addEventListener('abort', abort, { once: true });
        request.send(body);
    });
}
