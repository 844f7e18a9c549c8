/** The typed client of the API, for the frontend and for scripts. */
import { type TRPCClient } from '@trpc/client';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import { type CsvExport, type ImportCsv, type ImportTable } from './csv/csv-requests.js';
import { type DownloadOptions } from './files/client/rest-call.js';
import { type UploadedContent, type UploadName, type UploadOptions } from './files/client/upload-request.js';
import type { ChangedData, DataOf, FilterOf, NewData } from './records/client/table-types.js';
import type { TypedCalls } from './records/client/typed-calls.js';
import type { AppRouter } from './router.js';
import type { ChangedTasks as Changed, DeletedTask, ListedTasks, TaskContext } from './tasks/lists/listed-tasks.js';
export type { AppRouter, ChangedData, DataOf, DeletedTask, DownloadOptions, FilterOf, NewData, UploadedContent, UploadName, UploadOptions };
type Inputs = inferRouterInputs<AppRouter>;
type Outputs = inferRouterOutputs<AppRouter>;
export type Task = Outputs['tasks']['create'];
/** A task in a list with `include: ['context']`. */
export type TaskInContext = Task & TaskContext;
/** What `tasks.list` and `tasks.listOnRecord` answer with `updated_since`. A loop over its cursors has to name the type of a page. */
export type ChangedTasks<Row = Task> = Changed<Row>;
type UntypedClient = ListedTasks<TRPCClient<AppRouter>, Task> & Transfers;
/** The client. With a `Schema`, which `npx gridpost-client types` writes, it knows the fields and views of its tables. */
export type Client<Schema = unknown> = unknown extends Schema ? UntypedClient : TypedCalls<UntypedClient, Schema>;
type ExportConditions = Pick<Inputs['records']['query'], 'filters' | 'filter' | 'where' | 'search' | 'order' | 'order_by' | 'order_dir'>;
/** The part of a tree at a path such as `tasks.comments.upload`. */
type At<Tree, Path extends string> = Path extends `${infer Head}.${infer Rest}` ? Head extends keyof Tree ? At<Tree[Head], Rest> : never : Path extends keyof Tree ? Tree[Path] : never;
/**
 * Uploads a file of any size that the service takes, by the name of the procedure: `client.upload('tasks.upload', { task_id: 1 }, file)`.
 * @param file the `File` of a browser, or `{ name, content }` with a Blob, bytes or a stream
 * @returns what the procedure returns
 * @throws TRPCClientError as every call
 */
export type Upload = <Name extends UploadName>(name: Name, input: Omit<At<Inputs, Name>, 'name' | 'type' | 'data'>, file: UploadedContent, options?: UploadOptions) => Promise<At<Outputs, Name>>;
/** Files and bytes, which have no procedures. Each fails with TRPCClientError, as calls do. Downloads answer when their headers come. */
export interface Transfers {
    upload: Upload;
    importCsv: ImportCsv;
    importTable: ImportTable<Outputs['tables']['get']['fields'][number]>;
    /** The records of a table, or those of its view, as CSV. */
    exportCsv(input: CsvExport<ExportConditions>, options?: DownloadOptions): Promise<Response>;
    /** The audit log as lines of JSON. */
    exportAudit(filters?: Omit<Inputs['audit']['list'], 'limit' | 'cursor'>, options?: DownloadOptions): Promise<Response>;
    /** What is kept about a user, as a ZIP archive. */
    exportUser(input: {
        user_id: number;
    }, options?: DownloadOptions): Promise<Response>;
    /** The bytes of a file, by its `path`; with `w` a thumbnail of that width. `dropped` is for admins, who look before they restore it. */
    downloadFile(input: {
        path: string;
        w?: 160 | 320 | 640 | 1280;
        dropped?: boolean;
    }, options?: DownloadOptions): Promise<Response>;
    /** A mail as it was received (message/rfc822), by its `id` in `client.inbound.list`. */
    downloadMail(input: {
        id: number;
    }, options?: DownloadOptions): Promise<Response>;
    /** The message of a mail that was received (message/rfc822), by the id of its email_in comment; for admins. */
    downloadRaw(input: {
        comment_id: number;
    }, options?: DownloadOptions): Promise<Response>;
}
export interface ClientOptions {
    /** The address of the service, such as https://gridpost.example.com. */
    baseUrl: string;
    /** An API key. Without one, a browser sends its session cookie. */
    apiKey?: string;
    /** Sent with every request. A function is asked each time. */
    headers?: Record<string, string> | (() => Record<string, string>);
    fetch?: typeof globalThis.fetch;
    /** If true, a number with more digits than JavaScript keeps is answered as decimal text, which every number field takes back. */
    exactNumbers?: boolean;
}
/** What a single call has of its own: `client.tasks.create.mutate(input, { context: { idempotencyKey } })`. */
export type CallContext = {
    idempotencyKey?: string;
    /** The `version` that the call may change, or its ETag; for another version it fails with 409. */
    ifMatch?: number | string;
    /** If true, the call is a request of its own: its answer waits for no other call, and an abort ends it at the service, too. */
    alone?: boolean;
};
/**
 * Creates a client. Calls made at the same time are sent as one request, except those with a `CallContext`. Queries are sent by POST,
 * because a long filter does not fit into a URL. A subscription reconnects after a lost connection and resumes after its last event.
 * Errors are TRPCClientError, with the body of the REST error in `error.data`. `createClient<Schema>({ baseUrl, apiKey })` knows the tables
 * of the Schema.
 */
export declare function createClient<Schema = unknown>(options: ClientOptions): Client<NoInfer<Schema>>;
