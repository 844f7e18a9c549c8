/** The typed client of the API, for the frontend and for scripts. */
import { createTRPCClient, httpBatchLink, httpLink, httpSubscriptionLink, splitLink } from '@trpc/client';
import { exportCsv, importCsv, importTable } from './csv/csv-requests.js';
import { FetchEventSource } from './events/event-source.js';
import { download } from './files/client/rest-call.js';
import { upload } from './files/client/upload-request.js';
import { withExactNumbers } from './records/client/exact-numbers.js';
import { explainingStaleSchema } from './records/client/stale-schema.js';
/**
 * Creates a client. Calls made at the same time are sent as one request, except those with a `CallContext`. Queries are sent by POST,
 * because a long filter does not fit into a URL. A subscription reconnects after a lost connection and resumes after its last event.
 * Errors are TRPCClientError, with the body of the REST error in `error.data`. `createClient<Schema>({ baseUrl, apiKey })` knows the tables
 * of the Schema.
 */
export function createClient(options) {
    const { baseUrl, apiKey, headers = {}, fetch, exactNumbers = false } = options;
    const base = baseUrl.replace(/\/+$/, '');
    const url = `${base}/trpc`;
    const ownHeaders = typeof headers === 'function' ? headers : () => headers;
    const clientHeaders = () => ({ ...ownHeaders(), ...(apiKey && { authorization: `Bearer ${apiKey}` }) });
    const send = (to, init) => {
        const sent = fetch ?? globalThis.fetch;
        return (exactNumbers ? withExactNumbers(sent) : sent)(to, { ...init, credentials: 'include' });
    };
    const calls = createTRPCClient({
        links: [
            explainingStaleSchema(base),
            withLoginOnly,
            splitLink({
                condition: ({ type }) => type === 'subscription',
                true: httpSubscriptionLink({
                    url,
                    EventSource: FetchEventSource,
                    eventSourceOptions: {
                        fetch: (to, init) => send(to, { ...init, headers: { ...clientHeaders(), ...init.headers } }),
                    },
                }),
                false: splitLink({
                    // A header applies to the whole request, so a call with headers of its own is not batched.
                    condition: ({ context }) => context.alone === true || Object.keys(headersOf(context)).length > 0,
                    true: httpLink({
                        url,
                        methodOverride: 'POST',
                        fetch: send,
                        headers: ({ op }) => ({ ...clientHeaders(), ...headersOf(op.context) }),
                    }),
                    false: httpBatchLink({ url, methodOverride: 'POST', maxItems: 50, fetch: send, headers: clientHeaders }),
                }),
            }),
        ],
    });
    const transfers = transfersBy({ baseUrl: base, headers: clientHeaders, fetch });
    // The client is a proxy that takes every key for a part of a procedure's name.
    return new Proxy(calls, {
        get: (target, key) => (Object.hasOwn(transfers, key) ? transfers[key] : Reflect.get(target, key)),
    });
}
function transfersBy(transport) {
    return {
        upload: (name, input, file, options = {}) => upload(transport, name, input, file, options),
        importCsv: (input, file, options) => importCsv(transport, input, file, options),
        importTable: (input, file, options) => importTable(transport, input, file, options),
        exportCsv: (input, options) => exportCsv(transport, input, options),
        exportAudit: (filters = {}, options = {}) => download(transport, '/api/audit/export.jsonl', filters, options),
        exportUser: (input, options) => download(transport, '/api/user/{user_id}/export.zip', input, options),
        downloadFile: (input, options) => download(transport, '/api/file/{path}', input, options),
        downloadMail: (input, options) => download(transport, '/api/email/inbound/{id}/raw', input, options),
        downloadRaw: (input, options) => download(transport, '/api/email/{comment_id}/raw', input, options),
    };
}
/** A login takes an object that has more keys, such as a user of the demo, and sends the two that count. */
const withLoginOnly = () => ({ op, next }) => next(op.path === 'auth.login' ? { ...op, input: loginOf(op.input) } : op);
function loginOf(input) {
    if (typeof input !== 'object' || input === null)
        return input;
    const { email, password } = input;
    return { email, password };
}
function headersOf({ idempotencyKey, ifMatch }) {
    return {
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(ifMatch !== undefined && { 'if-match': typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch }),
    };
}
