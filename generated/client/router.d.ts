// Written by `npm run build:client` from the procedures of the service.

import type {
  TRPCBuiltRouter,
  TRPC_ERROR_CODE_NUMBER,
  TRPCDecorateCreateRouterOptions,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server'
import type {
  TRPC_ERROR_CODE_KEY,
} from '@trpc/server/rpc'
import type {
  TrackedData,
} from '@trpc/server/unstable-core-do-not-import'

export interface CallContext {
    request: object;
}

export interface Issue {
    path: (string | number)[];
    message: string;
}

export interface CellIssue {
    row: number;
    column: string | null;
    message: string;
}

export interface StaleRow {
    id: number;
    /** The present version. */
    version: number;
    /** The present row. */
    current: unknown;
}

export interface ErrorBody {
    message: string;
    code: TRPC_ERROR_CODE_KEY;
    issues?: (Issue | CellIssue)[];
    current?: unknown;
    stale?: StaleRow[];
    matched?: number;
    request_id: string;
}

export type Branch<Leaf> = {
    all: Tree<Leaf>[];
} | {
    any: Tree<Leaf>[];
} | {
    not: Tree<Leaf>;
};

export type Tree<Leaf> = Branch<Leaf> | Leaf;

export interface FilterInput {
    column?: string | null;
    /** An alias of `column`. */
    field?: string | null;
    compare: string;
    /** For `=` and `!=` also a list of 1 to 200 values: any of them, none of them. */
    value?: unknown;
    /** With `=`, a list and a field of several values: all of them. */
    all?: boolean | null;
    connector?: string | null;
}

export type GroupInput = {
    all: (GroupInput | FilterInput)[];
} | {
    any: (GroupInput | FilterInput)[];
} | {
    not: GroupInput | FilterInput;
};

export interface SortInput {
    field: string;
    dir?: 'A' | 'D' | 'a' | 'd' | null;
    nulls?: 'first' | 'last' | null;
}

export interface Badges {
    open_tasks: number;
    overdue_tasks: number;
    comments: number;
    unread: number | null;
}

export type WhereInput = Record<string, unknown>;

export type Values = Record<string, unknown>;

export interface BesideRow {
    _version?: number;
    _badges?: Badges;
}

/** The shape of every error. */
export type ErrorShape = {
    code: TRPC_ERROR_CODE_NUMBER;
    message: string;
    data: ErrorBody & {
        httpStatus: number;
    };
}

/** The whole API: each procedure with its input and its output. */
export type AppRouter = TRPCBuiltRouter<{
    ctx: CallContext;
    meta: object;
    errorShape: ErrorShape;
    transformer: false;
}, TRPCDecorateCreateRouterOptions<{
    account: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        owner: TRPCMutationProcedure<{
            input: {
                user_id: number;
                current_password: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }> & TRPCDecorateCreateRouterOptions<{
        usage: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                files: number;
                bytes: number;
                limit: number | null;
                records: number;
                tasks: number;
                mails: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    audit: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                actor_user_id?: number | null | undefined;
                action?: "account.created" | "account.owner_changed" | "address.change_requested" | "address.changed" | "comment.deleted" | "email.cancelled" | "email.retried" | "export.audit" | "export.csv" | "export.user" | "field.conversion_started" | "field.converted" | "field.created" | "field.deleted" | "field.updated" | "fields.reordered" | "file.deleted" | "file.restored" | "inbound_email.replayed" | "integration.created" | "integration.deleted" | "integration.updated" | "invitation.accepted" | "key.created" | "key.deleted" | "key.rotated" | "key.updated" | "member.added" | "member.invited_again" | "member.removed" | "member.updated" | "password.changed" | "password.reset" | "password.reset_requested" | "password.set" | "records.deleted" | "records.imported" | "records.restored" | "session.ended" | "sign_in.failed" | "sign_in.succeeded" | "signature.created" | "signature.deleted" | "signature.updated" | "space.created" | "space.deleted" | "space.moved" | "space.placed" | "space.purged" | "space.restored" | "space.updated" | "suppression.removed" | "table.created" | "table.deleted" | "table.purged" | "table.restored" | "table.updated" | "task.deleted" | "user.created" | "user.disabled" | "user.enabled" | "user.erased" | "user.updated" | "view.created" | "view.deleted" | "view.updated" | null | undefined;
                space_id?: number | null | undefined;
                since?: string | null | undefined;
                until?: string | null | undefined;
                limit?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: {
                    id: number;
                    at: string;
                    actor_user_id: number | null;
                    api_key_id: number | null;
                    ip: string | null;
                    action: "account.created" | "account.owner_changed" | "address.change_requested" | "address.changed" | "comment.deleted" | "email.cancelled" | "email.retried" | "export.audit" | "export.csv" | "export.user" | "field.conversion_started" | "field.converted" | "field.created" | "field.deleted" | "field.updated" | "fields.reordered" | "file.deleted" | "file.restored" | "inbound_email.replayed" | "integration.created" | "integration.deleted" | "integration.updated" | "invitation.accepted" | "key.created" | "key.deleted" | "key.rotated" | "key.updated" | "member.added" | "member.invited_again" | "member.removed" | "member.updated" | "password.changed" | "password.reset" | "password.reset_requested" | "password.set" | "records.deleted" | "records.imported" | "records.restored" | "session.ended" | "sign_in.failed" | "sign_in.succeeded" | "signature.created" | "signature.deleted" | "signature.updated" | "space.created" | "space.deleted" | "space.moved" | "space.placed" | "space.purged" | "space.restored" | "space.updated" | "suppression.removed" | "table.created" | "table.deleted" | "table.purged" | "table.restored" | "table.updated" | "task.deleted" | "user.created" | "user.disabled" | "user.enabled" | "user.erased" | "user.updated" | "view.created" | "view.deleted" | "view.updated";
                    space_id: number | null;
                    table_id: number | null;
                    object: {
                        type: string;
                        id: string;
                        name: string | null;
                    } | null;
                    detail: Record<string, unknown>;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    auth: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        methods: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                password: true;
                setup: boolean;
                demo?: {
                    name: string;
                    email: string;
                    role: "member" | "owner" | "viewer";
                }[] | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        demo: TRPCMutationProcedure<{
            input: {
                email: string;
            };
            output: {
                id: number;
                name: string;
                email: string;
                timezone: string;
                account_id: number;
                is_owner: boolean;
                mail_preference: "at_once" | "digest" | "none";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }> & TRPCDecorateCreateRouterOptions<{
        setup: TRPCMutationProcedure<{
            input: {
                token: string;
                name: string;
                email: string;
                password: string;
                timezone?: string | null | undefined;
                account_name?: string | null | undefined;
            };
            output: {
                id: number;
                name: string;
                email: string;
                timezone: string;
                account_id: number;
                is_owner: boolean;
                mail_preference: "at_once" | "digest" | "none";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }> & TRPCDecorateCreateRouterOptions<{
        login: TRPCMutationProcedure<{
            input: {
                email: string;
                password: string;
            };
            output: {
                id: number;
                name: string;
                email: string;
                timezone: string;
                account_id: number;
                is_owner: boolean;
                mail_preference: "at_once" | "digest" | "none";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        logout: TRPCMutationProcedure<{
            input: Record<string, never> | undefined;
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        me: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                id: number;
                name: string;
                email: string;
                timezone: string;
                account_id: number;
                is_owner: boolean;
                mail_preference: "at_once" | "digest" | "none";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        profile: TRPCMutationProcedure<{
            input: {
                name?: string | undefined;
                timezone?: string | undefined;
                mail_preference?: "at_once" | "digest" | "none" | undefined;
            };
            output: {
                id: number;
                name: string;
                email: string;
                timezone: string;
                account_id: number;
                is_owner: boolean;
                mail_preference: "at_once" | "digest" | "none";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        password: TRPCMutationProcedure<{
            input: {
                current_password: string;
                new_password: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        email: TRPCMutationProcedure<{
            input: {
                email: string;
                current_password: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        confirmEmail: TRPCMutationProcedure<{
            input: {
                token: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        forgot: TRPCMutationProcedure<{
            input: {
                email: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        reset: TRPCMutationProcedure<{
            input: {
                token: string;
                password: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        acceptInvite: TRPCMutationProcedure<{
            input: {
                token: string;
                name: string;
                password: string;
                timezone?: string | null | undefined;
            };
            output: {
                id: number;
                name: string;
                email: string;
                timezone: string;
                account_id: number;
                is_owner: boolean;
                mail_preference: "at_once" | "digest" | "none";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    sessions: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                rows: {
                    id: number;
                    created_at: string;
                    last_seen_at: string;
                    ip: string | null;
                    user_agent: string | null;
                    current: boolean;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        end: TRPCMutationProcedure<{
            input: {
                id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    keys: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                rows: {
                    id: number;
                    kind: "account" | "personal";
                    name: string;
                    read_only: boolean;
                    space_ids: number[] | null;
                    ip_allowlist: string[];
                    expires_at: string | null;
                    last_used_at: string | null;
                    created_at: string;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                space_ids?: number[] | null | undefined;
                ip_allowlist?: string[] | null | undefined;
                expires_at?: string | null | undefined;
                kind: "account" | "personal";
                name: string;
                read_only?: boolean | null | undefined;
            };
            output: {
                id: number;
                kind: "account" | "personal";
                name: string;
                read_only: boolean;
                space_ids: number[] | null;
                ip_allowlist: string[];
                expires_at: string | null;
                last_used_at: string | null;
                created_at: string;
                secret: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                name?: string | undefined;
                read_only?: boolean | undefined;
                space_ids?: number[] | null | undefined;
                ip_allowlist?: string[] | null | undefined;
                expires_at?: string | null | undefined;
                key_id: number;
            };
            output: {
                id: number;
                kind: "account" | "personal";
                name: string;
                read_only: boolean;
                space_ids: number[] | null;
                ip_allowlist: string[];
                expires_at: string | null;
                last_used_at: string | null;
                created_at: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        rotate: TRPCMutationProcedure<{
            input: {
                key_id: number;
            };
            output: {
                id: number;
                kind: "account" | "personal";
                name: string;
                read_only: boolean;
                space_ids: number[] | null;
                ip_allowlist: string[];
                expires_at: string | null;
                last_used_at: string | null;
                created_at: string;
                secret: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                key_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        self: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                key: {
                    id: number;
                    kind: "account" | "personal";
                    name: string;
                    read_only: boolean;
                    space_ids: number[] | null;
                    ip_allowlist: string[];
                    expires_at: string | null;
                    last_used_at: string | null;
                    created_at: string;
                };
                account_id: number;
                acts_as: {
                    id: number;
                    email: string | null;
                    name: string;
                    timezone: string;
                };
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    preferences: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                prefix?: string | null | undefined;
            };
            output: {
                rows: {
                    name: string;
                    value: unknown;
                    version: number;
                    updated_at: string | null;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                name: string;
                value: unknown;
            };
            output: {
                name: string;
                value: unknown;
                version: number;
                updated_at: string | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    users: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                rows: {
                    id: number;
                    name: string;
                    email: string | null;
                    status: "active" | "disabled" | "erased" | "invited";
                    last_seen_at: string | null;
                    spaces: {
                        space_id: number;
                        role: "admin" | "member" | "viewer";
                    }[];
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        disable: TRPCMutationProcedure<{
            input: {
                user_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        enable: TRPCMutationProcedure<{
            input: {
                user_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        erase: TRPCMutationProcedure<{
            input: {
                user_id: number;
                current_password: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    spaces: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                rows: {
                    id: number;
                    name: string;
                    account_id: number;
                    role: "admin" | "member" | "viewer";
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        get: TRPCQueryProcedure<{
            input: {
                space_id: number;
            };
            output: {
                id: number;
                name: string;
                account_id: number;
                role: "admin" | "member" | "viewer";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                name: string;
            };
            output: {
                id: number;
                name: string;
                account_id: number;
                role: "admin" | "member" | "viewer";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                space_id: number;
                name?: string | undefined;
            };
            output: {
                id: number;
                name: string;
                account_id: number;
                role: "admin" | "member" | "viewer";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                space_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        members: TRPCQueryProcedure<{
            input: {
                space_id: number;
                search?: string | null | undefined;
                limit?: number | null | undefined;
            };
            output: {
                rows: {
                    user_id: number;
                    name: string;
                    email: string;
                    role: "admin" | "member" | "viewer";
                    status?: "active" | "invited" | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        addMember: TRPCMutationProcedure<{
            input: {
                space_id: number;
                email: string;
                role: "admin" | "member" | "viewer";
            };
            output: {
                user_id: number;
                name: string;
                email: string;
                role: "admin" | "member" | "viewer";
                status: "active" | "invited";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        updateMember: TRPCMutationProcedure<{
            input: {
                space_id: number;
                role: "admin" | "member" | "viewer";
                user_id: number;
            };
            output: {
                user_id: number;
                name: string;
                email: string;
                role: "admin" | "member" | "viewer";
                status: "active" | "invited";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        removeMember: TRPCMutationProcedure<{
            input: {
                space_id: number;
                user_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    tables: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        get: TRPCQueryProcedure<{
            input: {
                table_id: number;
            };
            output: {
                id: number;
                name: string;
                space_id: number;
                fields: {
                    id: string;
                    name: string;
                    type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                    required: boolean;
                    always_hidden: boolean;
                    admin_only: boolean;
                    options?: string[] | undefined;
                    colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                    decimals?: number | undefined;
                    table?: number | undefined;
                    key?: true | undefined;
                    calc?: true | undefined;
                    version?: number | undefined;
                }[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                space_id: number;
                name: string;
                fields?: {
                    id?: string | null | undefined;
                    name: string;
                    type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                    required?: boolean | null | undefined;
                    always_hidden?: boolean | null | undefined;
                    admin_only?: boolean | null | undefined;
                    options?: string[] | null | undefined;
                    colors?: Readonly<Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow" | null>> | null | undefined;
                    decimals?: number | null | undefined;
                    table?: number | null | undefined;
                }[] | null | undefined;
            };
            output: {
                id: number;
                name: string;
                space_id: number;
                fields: {
                    id: string;
                    name: string;
                    type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                    required: boolean;
                    always_hidden: boolean;
                    admin_only: boolean;
                    options?: string[] | undefined;
                    colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                    decimals?: number | undefined;
                    table?: number | undefined;
                    key?: true | undefined;
                    calc?: true | undefined;
                    version?: number | undefined;
                }[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                table_id: number;
                name?: string | undefined;
            };
            output: {
                id: number;
                name: string;
                space_id: number;
                fields: {
                    id: string;
                    name: string;
                    type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                    required: boolean;
                    always_hidden: boolean;
                    admin_only: boolean;
                    options?: string[] | undefined;
                    colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                    decimals?: number | undefined;
                    table?: number | undefined;
                    key?: true | undefined;
                    calc?: true | undefined;
                    version?: number | undefined;
                }[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                table_id: number;
                force?: boolean | null | undefined;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }> & TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                space_id: number;
                include?: ("counts" | "fields" | "views")[] | null | undefined;
            };
            output: {
                rows: {
                    id: number;
                    name: string;
                    space_id: number;
                    fields?: {
                        id: string;
                        name: string;
                        type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                        required: boolean;
                        always_hidden: boolean;
                        admin_only: boolean;
                        options?: string[] | undefined;
                        colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                        decimals?: number | undefined;
                        table?: number | undefined;
                        key?: true | undefined;
                        calc?: true | undefined;
                        version?: number | undefined;
                    }[] | undefined;
                    views?: {
                        id: number;
                        account_id: number;
                        table_id: number;
                        name: string;
                        type: "calendar" | "gallery" | "grid" | "kanban";
                        config: Record<string, unknown> | null;
                        filters: {
                            column: string;
                            compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                            value?: unknown;
                            all?: true | undefined;
                            connector: "AND" | "OR";
                        }[];
                        filter?: Tree<{
                            column: string;
                            compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                            value?: unknown;
                            all?: true | undefined;
                        }> | undefined;
                        order_by: string | null;
                        order_dir: "A" | "D" | null;
                        order?: {
                            field: string;
                            dir: "A" | "D";
                            nulls?: "first" | "last" | undefined;
                        }[] | undefined;
                        created_by: number;
                        created_at: string;
                        updated_at: string;
                        is_default: boolean;
                        is_table_default: boolean;
                        version: number;
                    }[] | undefined;
                    record_count?: number | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    fields: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        changeType: TRPCMutationProcedure<{
            input: {
                table_id: number;
                field_id: string | number;
                type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                options?: string[] | null | undefined;
                decimals?: number | null | undefined;
                table?: number | null | undefined;
                dry_run?: boolean | null | undefined;
                drop_failing?: boolean | null | undefined;
                force?: boolean | null | undefined;
            };
            output: {
                job_id: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }> & TRPCDecorateCreateRouterOptions<{
        create: TRPCMutationProcedure<{
            input: {
                table_id: number;
                id?: string | null | undefined;
                name: string;
                type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                required?: boolean | null | undefined;
                always_hidden?: boolean | null | undefined;
                admin_only?: boolean | null | undefined;
                options?: string[] | null | undefined;
                colors?: Readonly<Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow" | null>> | null | undefined;
                decimals?: number | null | undefined;
                table?: number | null | undefined;
            };
            output: {
                id: string;
                name: string;
                type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                required: boolean;
                always_hidden: boolean;
                admin_only: boolean;
                options?: string[] | undefined;
                colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                decimals?: number | undefined;
                table?: number | undefined;
                key?: true | undefined;
                calc?: true | undefined;
                version?: number | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                table_id: number;
                name?: string | undefined;
                required?: boolean | null | undefined;
                always_hidden?: boolean | null | undefined;
                admin_only?: boolean | null | undefined;
                options?: (string | {
                    title: string;
                    was: string;
                })[] | null | undefined;
                add_options?: string[] | null | undefined;
                remove_options?: string[] | null | undefined;
                colors?: Readonly<Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow" | null>> | null | undefined;
                decimals?: number | null | undefined;
                force?: boolean | undefined;
                field_id: string | number;
            };
            output: {
                id: string;
                name: string;
                type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                required: boolean;
                always_hidden: boolean;
                admin_only: boolean;
                options?: string[] | undefined;
                colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                decimals?: number | undefined;
                table?: number | undefined;
                key?: true | undefined;
                calc?: true | undefined;
                version?: number | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                table_id: number;
                force?: boolean | null | undefined;
                field_id: string | number;
            };
            output: {
                ok: true;
                deleted_views: {
                    id: number;
                    name: string;
                }[];
                unsorted_views: {
                    id: number;
                    name: string;
                }[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        reorder: TRPCMutationProcedure<{
            input: {
                table_id: number;
                field_ids: string[];
            };
            output: {
                rows: {
                    id: string;
                    name: string;
                    type: "checkbox" | "date" | "datetime" | "email" | "file" | "long_text" | "lookup" | "multi_lookup" | "multi_select" | "multi_user" | "number" | "phone" | "select" | "text" | "time" | "url" | "user";
                    required: boolean;
                    always_hidden: boolean;
                    admin_only: boolean;
                    options?: string[] | undefined;
                    colors?: Record<string, "blue" | "gray" | "green" | "indigo" | "orange" | "pink" | "purple" | "red" | "teal" | "yellow"> | undefined;
                    decimals?: number | undefined;
                    table?: number | undefined;
                    key?: true | undefined;
                    calc?: true | undefined;
                    version?: number | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    jobs: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        get: TRPCQueryProcedure<{
            input: {
                job_id: number;
            };
            output: {
                state: "cancelled" | "checking" | "done" | "failed" | "refused" | "running";
                done: number;
                total: number;
                error: string | null;
                converts?: number | undefined;
                failing?: number | undefined;
                fails?: {
                    record_id: number;
                    value: string;
                }[] | undefined;
                deleted_views?: {
                    id: number;
                    name: string;
                }[] | undefined;
                dropped_sorts?: {
                    id: number;
                    name: string;
                }[] | undefined;
                created?: number | undefined;
                change_id?: number | undefined;
                filled?: {
                    rows: number;
                    lines: number[];
                } | undefined;
                cut?: {
                    rows: number;
                    lines: number[];
                } | undefined;
                matched?: number | undefined;
                changed?: number | undefined;
                skipped?: number | undefined;
                skips?: {
                    record_id: number;
                    field: string | null;
                    reason: string;
                }[] | undefined;
                issues?: {
                    row: number;
                    column: string | null;
                    message: string;
                }[] | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        cancel: TRPCMutationProcedure<{
            input: {
                job_id: number;
            };
            output: {
                ok: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    views: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                table_id: number;
            };
            output: {
                rows: {
                    id: number;
                    account_id: number;
                    table_id: number;
                    name: string;
                    type: "calendar" | "gallery" | "grid" | "kanban";
                    config: Record<string, unknown> | null;
                    filters: {
                        column: string;
                        compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                        value?: unknown;
                        all?: true | undefined;
                        connector: "AND" | "OR";
                    }[];
                    filter?: Tree<{
                        column: string;
                        compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                        value?: unknown;
                        all?: true | undefined;
                    }> | undefined;
                    order_by: string | null;
                    order_dir: "A" | "D" | null;
                    order?: {
                        field: string;
                        dir: "A" | "D";
                        nulls?: "first" | "last" | undefined;
                    }[] | undefined;
                    created_by: number;
                    created_at: string;
                    updated_at: string;
                    is_default: boolean;
                    is_table_default: boolean;
                    version: number;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        get: TRPCQueryProcedure<{
            input: {
                table_id: number;
                view_id: number;
            };
            output: {
                id: number;
                account_id: number;
                table_id: number;
                name: string;
                type: "calendar" | "gallery" | "grid" | "kanban";
                config: Record<string, unknown> | null;
                filters: {
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                    connector: "AND" | "OR";
                }[];
                filter?: Tree<{
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                }> | undefined;
                order_by: string | null;
                order_dir: "A" | "D" | null;
                order?: {
                    field: string;
                    dir: "A" | "D";
                    nulls?: "first" | "last" | undefined;
                }[] | undefined;
                created_by: number;
                created_at: string;
                updated_at: string;
                is_default: boolean;
                is_table_default: boolean;
                version: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                table_id: number;
                name: string;
                type: "calendar" | "gallery" | "grid" | "kanban";
                config?: Record<string, unknown> | null | undefined;
                filters?: FilterInput[] | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                is_table_default?: boolean | null | undefined;
            };
            output: {
                id: number;
                account_id: number;
                table_id: number;
                name: string;
                type: "calendar" | "gallery" | "grid" | "kanban";
                config: Record<string, unknown> | null;
                filters: {
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                    connector: "AND" | "OR";
                }[];
                filter?: Tree<{
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                }> | undefined;
                order_by: string | null;
                order_dir: "A" | "D" | null;
                order?: {
                    field: string;
                    dir: "A" | "D";
                    nulls?: "first" | "last" | undefined;
                }[] | undefined;
                created_by: number;
                created_at: string;
                updated_at: string;
                is_default: boolean;
                is_table_default: boolean;
                version: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        check: TRPCQueryProcedure<{
            input: {
                table_id: number;
                name: string;
                type: "calendar" | "gallery" | "grid" | "kanban";
                config?: Record<string, unknown> | null | undefined;
                filters?: FilterInput[] | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                is_table_default?: boolean | null | undefined;
            };
            output: {
                name: string;
                type: "calendar" | "gallery" | "grid" | "kanban";
                config: Record<string, unknown> | null;
                filters: {
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                    connector: "AND" | "OR";
                }[];
                filter?: Tree<{
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                }> | undefined;
                order_by: string | null;
                order_dir: "A" | "D" | null;
                order?: {
                    field: string;
                    dir: "A" | "D";
                    nulls?: "first" | "last" | undefined;
                }[] | undefined;
                is_table_default: boolean;
                dropped: string[];
                index: string | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                table_id: number;
                name?: string | undefined;
                config?: Record<string, unknown> | null | undefined;
                filters?: FilterInput[] | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                is_table_default?: boolean | null | undefined;
                view_id: number;
            };
            output: {
                id: number;
                account_id: number;
                table_id: number;
                name: string;
                type: "calendar" | "gallery" | "grid" | "kanban";
                config: Record<string, unknown> | null;
                filters: {
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                    connector: "AND" | "OR";
                }[];
                filter?: Tree<{
                    column: string;
                    compare: "!=" | "<" | "<=" | "=" | ">" | ">=" | "contains" | "ends_with" | "is_empty" | "is_not_empty" | "starts_with";
                    value?: unknown;
                    all?: true | undefined;
                }> | undefined;
                order_by: string | null;
                order_dir: "A" | "D" | null;
                order?: {
                    field: string;
                    dir: "A" | "D";
                    nulls?: "first" | "last" | undefined;
                }[] | undefined;
                created_by: number;
                created_at: string;
                updated_at: string;
                is_default: boolean;
                is_table_default: boolean;
                version: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                table_id: number;
                view_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    indexes: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                table_id: number;
            };
            output: {
                rows: {
                    name: string;
                    fields: string[];
                    reason: string;
                    state: "building" | "failed" | "over_budget" | "ready";
                    size: number;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    records: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        get: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
                include?: ("badges" | "version")[] | null | undefined;
            };
            output: {
                id: number;
                title: string | null;
                data: Record<string, unknown>;
                created_at: string;
                updated_at: string;
                version: number;
                badges?: Badges | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                table_id: number;
                data: Record<string, unknown>;
            };
            output: {
                id: number;
                title: string | null;
                data: Record<string, unknown>;
                created_at: string;
                updated_at: string;
                version: number;
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                data: Record<string, unknown>;
            };
            output: {
                id: number;
                title: string | null;
                data: Record<string, unknown>;
                created_at: string;
                updated_at: string;
                version: number;
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
            };
            output: {
                ok: true;
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        deleteBatch: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_ids: number[];
            };
            output: {
                deleted: number;
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        deleted: TRPCQueryProcedure<{
            input: {
                table_id: number;
                search?: string | null | undefined;
                limit?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: {
                    id: number;
                    title: string | null;
                    deleted_at: string;
                    user_id: number | null;
                    user_name: string | null;
                    change_id: number;
                    kept_until: string;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        restore: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
            };
            output: {
                id: number;
                title: string | null;
                data: Record<string, unknown>;
                created_at: string;
                updated_at: string;
                version: number;
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        createBatch: TRPCMutationProcedure<{
            input: {
                table_id: number;
                records: {
                    data: Record<string, unknown>;
                }[];
            };
            output: {
                rows: {
                    id: number;
                    title: string | null;
                    data: Record<string, unknown>;
                    created_at: string;
                    updated_at: string;
                    version: number;
                    badges?: Badges | undefined;
                }[];
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        updateBatch: TRPCMutationProcedure<{
            input: {
                table_id: number;
                records: {
                    data: Record<string, unknown>;
                    id: number;
                    version?: number | null | undefined;
                }[];
            };
            output: {
                rows: {
                    id: number;
                    title: string | null;
                    data: Record<string, unknown>;
                    created_at: string;
                    updated_at: string;
                    version: number;
                    badges?: Badges | undefined;
                }[];
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        updateWhere: TRPCMutationProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                dry_run?: boolean | null | undefined;
                expect?: number | null | undefined;
                data: Record<string, unknown>;
            };
            output: {
                matched: number;
                changed?: number | undefined;
                job_id?: number | undefined;
                change_id?: number | null | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        deleteWhere: TRPCMutationProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                dry_run?: boolean | null | undefined;
                expect?: number | null | undefined;
            };
            output: {
                matched: number;
                changed?: number | undefined;
                job_id?: number | undefined;
                change_id?: number | null | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        undo: TRPCMutationProcedure<{
            input: {
                table_id: number;
                change_id: number;
            };
            output: {
                undone: number;
                skipped: number;
                skips: {
                    record_id: number;
                    field: string | null;
                    reason: "changed since" | "deleted" | "field is gone" | "field is required" | "file is gone" | "link is gone" | "no right" | "not a member" | "option is gone" | "type changed";
                }[];
                change_id: number | null;
            } | {
                job_id: number;
                change_id: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        query: TRPCQueryProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                fields?: string[] | null | undefined;
                include?: ("badges" | "version")[] | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
                cursor?: string | null | undefined;
                count?: boolean | null | undefined;
                explain?: boolean | null | undefined;
                record_id?: number | null | undefined;
            };
            output: {
                rows: ({
                    id: number;
                } & Values & BesideRow)[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            } & Partial<{
                timezone: string;
                me: {
                    id: number;
                    email: string | null;
                    name: string;
                };
                tokens: {
                    token: string;
                    from: string;
                    to: string;
                }[];
                predicate: string;
                order: {
                    field: string;
                    dir: "A" | "D";
                    nulls?: "first" | "last" | undefined;
                }[];
                indexes: string[];
                record?: {
                    id: number;
                    matches: boolean;
                    failed: {
                        column: string | null;
                        compare: string;
                        value?: unknown;
                        all?: true | undefined;
                        actual: unknown;
                        not?: true | undefined;
                    } | null;
                } | undefined;
            }>;
            meta: object;
            errorShape: ErrorShape;
        }>;
        explain: TRPCQueryProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                fields?: string[] | null | undefined;
                include?: ("badges" | "version")[] | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
                cursor?: string | null | undefined;
                count?: boolean | null | undefined;
                explain?: boolean | null | undefined;
                record_id?: number | null | undefined;
            };
            output: {
                timezone: string;
                me: {
                    id: number;
                    email: string | null;
                    name: string;
                };
                tokens: {
                    token: string;
                    from: string;
                    to: string;
                }[];
                predicate: string;
                order: {
                    field: string;
                    dir: "A" | "D";
                    nulls?: "first" | "last" | undefined;
                }[];
                indexes: string[];
                record?: {
                    id: number;
                    matches: boolean;
                    failed: {
                        column: string | null;
                        compare: string;
                        value?: unknown;
                        all?: true | undefined;
                        actual: unknown;
                        not?: true | undefined;
                    } | null;
                } | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        count: TRPCQueryProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                fields?: string[] | null | undefined;
                include?: ("badges" | "version")[] | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
                cursor?: string | null | undefined;
                count?: boolean | null | undefined;
                explain?: boolean | null | undefined;
                record_id?: number | null | undefined;
            };
            output: {
                count: number;
                total: number;
                total_approx: boolean;
                restricted: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        groups: TRPCQueryProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                by: string;
                unit?: "day" | "month" | "week" | null | undefined;
            };
            output: {
                rows: {
                    value: string | boolean | {
                        id: number;
                        email: string | null;
                        name: string;
                    } | null;
                    count: number;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        history: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
                limit?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: {
                    change_id: number;
                    version: number;
                    at: string;
                    user_id: number | null;
                    user_name: string | null;
                    api_key_id: number | null;
                    kind: "create" | "delete" | "restore" | "undo" | "update";
                    records: number;
                    changes?: {
                        field: string;
                        name: string;
                        from: unknown;
                        to: unknown;
                    }[] | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        neighbours: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                position?: boolean | null | undefined;
            };
            output: {
                matches: boolean;
                previous: number | null;
                next: number | null;
                position?: number | undefined;
                total?: number | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        aggregate: TRPCQueryProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                by?: {
                    field: string;
                    unit?: "day" | "month" | "quarter" | "week" | "year" | null | undefined;
                }[] | null | undefined;
                measures: {
                    fn: "avg" | "checked" | "count" | "distinct" | "empty" | "filled" | "max" | "median" | "min" | "sum";
                    field?: string | null | undefined;
                }[];
                order?: {
                    measure: number;
                    dir?: "A" | "D" | "a" | "d" | null | undefined;
                } | null | undefined;
                limit?: number | null | undefined;
            };
            output: {
                rows: {
                    group: (string | boolean | {
                        id: number;
                        email: string | null;
                        name: string;
                    } | {
                        id: number;
                        title: string | null;
                    } | null)[];
                    values: (string | number | null)[];
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        board: TRPCQueryProcedure<{
            input: {
                table_id: number;
                filters?: FilterInput[] | null | undefined;
                where?: WhereInput | null | undefined;
                filter?: FilterInput | GroupInput | null | undefined;
                search?: string | null | undefined;
                view_id?: number | null | undefined;
                append_filters?: boolean | null | undefined;
                order_by?: string | null | undefined;
                order_dir?: "A" | "D" | "a" | "d" | null | undefined;
                order?: SortInput[] | null | undefined;
                fields?: string[] | null | undefined;
                include?: ("badges" | "version")[] | null | undefined;
                by: string;
                per_group?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: {
                    value: string | boolean | {
                        id: number;
                        email: string | null;
                        name: string;
                    } | {
                        id: number;
                        title: string | null;
                    } | null;
                    count: number;
                    rows: ({
                        id: number;
                    } & Values & BesideRow)[];
                    next_cursor?: string | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    files: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        create: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                name: string;
                type?: string | null | undefined;
                data: string;
                field_id: string;
            };
            output: {
                rows: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        get: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
                field_id: string;
                path: string;
            };
            output: {
                name: string;
                size: number;
                type: string;
                data: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                field_id: string;
                path: string;
            };
            output: {
                rows: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        dropped: TRPCQueryProcedure<{
            input: {
                space_id: number;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
            };
            output: {
                rows: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    table_id: number | null;
                    record_id: number | null;
                    task_id: number | null;
                    field_id: string | null;
                    dropped_at: string;
                    dropped_until: string;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        restore: TRPCMutationProcedure<{
            input: {
                path: string;
            };
            output: {
                name: string;
                path: string;
                size: number;
                type: string;
                host: string;
                change_id: number | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    comments: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
                types?: ("comment" | "email_in" | "email_out")[] | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: {
                    id: number;
                    table_id: number;
                    record_id: number;
                    type: "comment" | "email_in" | "email_out";
                    user_id: number;
                    user_name: string;
                    api_key_id: number | null;
                    content: string;
                    attachments: {
                        name: string;
                        path: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    metadata: Record<string, unknown> | null;
                    created_at: string;
                    updated_at: string | null;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                content?: string | null | undefined;
                attachments?: {
                    path: string;
                    name?: string | null | undefined;
                    size?: number | null | undefined;
                    type?: string | null | undefined;
                    host?: string | null | undefined;
                }[] | null | undefined;
            };
            output: {
                id: number;
                table_id: number;
                record_id: number;
                type: "comment" | "email_in" | "email_out";
                user_id: number;
                user_name: string;
                api_key_id: number | null;
                content: string;
                attachments: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                metadata: Record<string, unknown> | null;
                created_at: string;
                updated_at: string | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                content: string;
                attachments?: null | undefined;
                comment_id: number;
            };
            output: {
                id: number;
                table_id: number;
                record_id: number;
                type: "comment" | "email_in" | "email_out";
                user_id: number;
                user_name: string;
                api_key_id: number | null;
                content: string;
                attachments: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                metadata: Record<string, unknown> | null;
                created_at: string;
                updated_at: string | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                comment_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        upload: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                name: string;
                type?: string | null | undefined;
                data: string;
            };
            output: {
                name: string;
                path: string;
                size: number;
                type: string;
                host: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    subscriptions: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        subscribeTable: TRPCMutationProcedure<{
            input: {
                table_id: number;
                force?: boolean | null | undefined;
            };
            output: {
                ok: true;
                subscribed: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        unsubscribeTable: TRPCMutationProcedure<{
            input: {
                table_id: number;
                force?: boolean | null | undefined;
            };
            output: {
                ok: true;
                subscribed: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        subscribe: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                force?: boolean | null | undefined;
            };
            output: {
                ok: true;
                subscribed: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        unsubscribe: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                force?: boolean | null | undefined;
            };
            output: {
                ok: true;
                subscribed: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        status: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id?: number | null | undefined;
            };
            output: {
                table: boolean;
                record: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    notifications: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                filter?: "all" | "unread" | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
            };
            output: {
                rows: {
                    id: number;
                    user_id: number;
                    actor_user_id: number | null;
                    account_id: number;
                    space_id: number | null;
                    table_id: number | null;
                    record_id: number | null;
                    task_id: number | null;
                    event_type: string;
                    message: string;
                    url: string;
                    summary: string;
                    seen_at: string | null;
                    read_at: string | null;
                    created_at: string;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        unreadCount: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                unread: number;
                tasksDue: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        markRead: TRPCMutationProcedure<{
            input: {
                id: number;
            };
            output: {
                id: number;
                read: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        markUnread: TRPCMutationProcedure<{
            input: {
                id: number;
            };
            output: {
                id: number;
                read: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        markRecordRead: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
            };
            output: {
                read: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        markAllRead: TRPCMutationProcedure<{
            input: Record<string, never> | undefined;
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    tasks: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        upload: TRPCMutationProcedure<{
            input: {
                name: string;
                type?: string | null | undefined;
                data: string;
                task_id: number;
            };
            output: {
                name: string;
                path: string;
                size: number;
                type: string;
                host: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        stage: TRPCMutationProcedure<{
            input: {
                name: string;
                type?: string | null | undefined;
                data: string;
            };
            output: {
                name: string;
                path: string;
                size: number;
                type: string;
                host: string;
                staged_token: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        stageOnRecord: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                name: string;
                type?: string | null | undefined;
                data: string;
            };
            output: {
                name: string;
                path: string;
                size: number;
                type: string;
                host: string;
                staged_token: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        createOnRecord: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                title: string;
                details?: string | null | undefined;
                assignee_user_id?: number | null | undefined;
                assignee_email?: string | null | undefined;
                assigner_user_id?: number | null | undefined;
                assigner_email?: string | null | undefined;
                notify_assigner?: boolean | null | undefined;
                due_date?: string | null | undefined;
                due_time?: string | null | undefined;
                reminder_offset_mins?: number | null | undefined;
                reminder_time?: string | null | undefined;
                attachments?: {
                    name?: string | null | undefined;
                    size?: number | null | undefined;
                    type?: string | null | undefined;
                    host?: string | null | undefined;
                    path?: string | null | undefined;
                    staged_token: string;
                }[] | null | undefined;
                external_id?: string | null | undefined;
                upsert?: boolean | null | undefined;
            };
            output: {
                id: number;
                creator_user_id: number;
                assignee_user_id: number;
                account_id: number;
                space_id: number | null;
                table_id: number | null;
                record_id: number | null;
                title: string;
                details: string | null;
                due_date: string | null;
                due_time: string | null;
                reminder_offset_mins: number | null;
                reminder_time: string | null;
                reminder_at: string | null;
                reminder_sent_at: string | null;
                status: "done" | "open";
                completed_at: string | null;
                completed_by_user_id: number | null;
                created_at: string;
                updated_at: string;
                version: number;
                attachments: {
                    path: string;
                    name: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                external_id?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        createManyOnRecord: TRPCMutationProcedure<{
            input: {
                table_id: number;
                record_id: number;
                tasks: {
                    title: string;
                    details?: string | null | undefined;
                    assignee_user_id?: number | null | undefined;
                    assignee_email?: string | null | undefined;
                    assigner_user_id?: number | null | undefined;
                    assigner_email?: string | null | undefined;
                    notify_assigner?: boolean | null | undefined;
                    due_date?: string | null | undefined;
                    due_time?: string | null | undefined;
                    reminder_offset_mins?: number | null | undefined;
                    reminder_time?: string | null | undefined;
                    attachments?: {
                        name?: string | null | undefined;
                        size?: number | null | undefined;
                        type?: string | null | undefined;
                        host?: string | null | undefined;
                        path?: string | null | undefined;
                        staged_token: string;
                    }[] | null | undefined;
                    external_id?: string | null | undefined;
                    upsert?: boolean | null | undefined;
                }[];
            };
            output: {
                rows: {
                    ok: boolean;
                    task?: {
                        id: number;
                        creator_user_id: number;
                        assignee_user_id: number;
                        account_id: number;
                        space_id: number | null;
                        table_id: number | null;
                        record_id: number | null;
                        title: string;
                        details: string | null;
                        due_date: string | null;
                        due_time: string | null;
                        reminder_offset_mins: number | null;
                        reminder_time: string | null;
                        reminder_at: string | null;
                        reminder_sent_at: string | null;
                        status: "done" | "open";
                        completed_at: string | null;
                        completed_by_user_id: number | null;
                        created_at: string;
                        updated_at: string;
                        version: number;
                        attachments: {
                            path: string;
                            name: string;
                            size: number;
                            type: string;
                            host: string;
                        }[];
                        external_id?: string | undefined;
                    } | undefined;
                    message?: string | undefined;
                    code?: string | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        listOnRecord: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
                include?: "context"[] | null | undefined;
                updated_since?: string | null | undefined;
                status?: "done" | "open" | null | undefined;
                order?: "created" | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: ({
                    id: number;
                    creator_user_id: number;
                    assignee_user_id: number;
                    account_id: number;
                    space_id: number | null;
                    table_id: number | null;
                    record_id: number | null;
                    title: string;
                    details: string | null;
                    due_date: string | null;
                    due_time: string | null;
                    reminder_offset_mins: number | null;
                    reminder_time: string | null;
                    reminder_at: string | null;
                    reminder_sent_at: string | null;
                    status: "done" | "open";
                    completed_at: string | null;
                    completed_by_user_id: number | null;
                    created_at: string;
                    updated_at: string;
                    version: number;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    external_id?: string | undefined;
                } | {
                    id: number;
                    deleted_at: string;
                } | {
                    id: number;
                    creator_user_id: number;
                    assignee_user_id: number;
                    account_id: number;
                    space_id: number | null;
                    table_id: number | null;
                    record_id: number | null;
                    title: string;
                    details: string | null;
                    due_date: string | null;
                    due_time: string | null;
                    reminder_offset_mins: number | null;
                    reminder_time: string | null;
                    reminder_at: string | null;
                    reminder_sent_at: string | null;
                    status: "done" | "open";
                    completed_at: string | null;
                    completed_by_user_id: number | null;
                    created_at: string;
                    updated_at: string;
                    version: number;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    external_id?: string | undefined;
                    assignee_name: string;
                    creator_name: string;
                    table_name: string | null;
                    record_title: string | null;
                    comment_count: number;
                })[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        countOnRecord: TRPCQueryProcedure<{
            input: {
                table_id: number;
                record_id: number;
            };
            output: {
                open: number;
                total: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        get: TRPCQueryProcedure<{
            input: {
                task_id: number;
            };
            output: {
                id: number;
                creator_user_id: number;
                assignee_user_id: number;
                account_id: number;
                space_id: number | null;
                table_id: number | null;
                record_id: number | null;
                title: string;
                details: string | null;
                due_date: string | null;
                due_time: string | null;
                reminder_offset_mins: number | null;
                reminder_time: string | null;
                reminder_at: string | null;
                reminder_sent_at: string | null;
                status: "done" | "open";
                completed_at: string | null;
                completed_by_user_id: number | null;
                created_at: string;
                updated_at: string;
                version: number;
                attachments: {
                    path: string;
                    name: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                external_id?: string | undefined;
                comment_count: number;
                subscribers: number[];
                subscribed: boolean;
                table_name: string | null;
                record_title: string | null;
                recent_comments: {
                    id: number;
                    task_id: number;
                    content: string;
                    user_id: number;
                    user_name: string;
                    api_key_id: number | null;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    created_at: string;
                    updated_at: string | null;
                }[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                task_id: number;
                title?: string | undefined;
                details?: string | null | undefined;
                due_date?: string | null | undefined;
                due_time?: string | null | undefined;
                reminder_offset_mins?: number | null | undefined;
                reminder_time?: string | null | undefined;
                assignee_user_id?: number | undefined;
                assignee_email?: string | undefined;
                attachments?: {
                    path: string;
                    name?: string | null | undefined;
                    size?: number | null | undefined;
                    type?: string | null | undefined;
                    host?: string | null | undefined;
                }[] | null | undefined;
                external_id?: string | null | undefined;
            };
            output: {
                id: number;
                creator_user_id: number;
                assignee_user_id: number;
                account_id: number;
                space_id: number | null;
                table_id: number | null;
                record_id: number | null;
                title: string;
                details: string | null;
                due_date: string | null;
                due_time: string | null;
                reminder_offset_mins: number | null;
                reminder_time: string | null;
                reminder_at: string | null;
                reminder_sent_at: string | null;
                status: "done" | "open";
                completed_at: string | null;
                completed_by_user_id: number | null;
                created_at: string;
                updated_at: string;
                version: number;
                attachments: {
                    path: string;
                    name: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                external_id?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                task_id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        markDone: TRPCMutationProcedure<{
            input: {
                task_id: number;
            };
            output: {
                ok: boolean;
                status: "done" | "open";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        markUndone: TRPCMutationProcedure<{
            input: {
                task_id: number;
            };
            output: {
                ok: boolean;
                status: "done" | "open";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        reminder: TRPCQueryProcedure<{
            input: {
                task_id: number;
            };
            output: {
                fires_at: string | null;
                local: string | null;
                timezone: string;
                to: {
                    id: number;
                    email: string | null;
                    name: string;
                } | null;
                state: "missed" | "none" | "scheduled" | "sent";
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        subscribe: TRPCMutationProcedure<{
            input: {
                force?: boolean | null | undefined;
                task_id: number;
            };
            output: {
                ok: true;
                subscribed: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        unsubscribe: TRPCMutationProcedure<{
            input: {
                force?: boolean | null | undefined;
                task_id: number;
            };
            output: {
                ok: true;
                subscribed: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        list: TRPCQueryProcedure<{
            input: {
                include?: "context"[] | null | undefined;
                updated_since?: string | null | undefined;
                cursor?: string | null | undefined;
                tab?: "all" | "delegated" | "my" | null | undefined;
                search?: string | null | undefined;
                include_done?: boolean | null | undefined;
                limit?: number | null | undefined;
                offset?: number | null | undefined;
            };
            output: {
                rows: ({
                    id: number;
                    creator_user_id: number;
                    assignee_user_id: number;
                    account_id: number;
                    space_id: number | null;
                    table_id: number | null;
                    record_id: number | null;
                    title: string;
                    details: string | null;
                    due_date: string | null;
                    due_time: string | null;
                    reminder_offset_mins: number | null;
                    reminder_time: string | null;
                    reminder_at: string | null;
                    reminder_sent_at: string | null;
                    status: "done" | "open";
                    completed_at: string | null;
                    completed_by_user_id: number | null;
                    created_at: string;
                    updated_at: string;
                    version: number;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    external_id?: string | undefined;
                } | {
                    id: number;
                    deleted_at: string;
                } | {
                    id: number;
                    creator_user_id: number;
                    assignee_user_id: number;
                    account_id: number;
                    space_id: number | null;
                    table_id: number | null;
                    record_id: number | null;
                    title: string;
                    details: string | null;
                    due_date: string | null;
                    due_time: string | null;
                    reminder_offset_mins: number | null;
                    reminder_time: string | null;
                    reminder_at: string | null;
                    reminder_sent_at: string | null;
                    status: "done" | "open";
                    completed_at: string | null;
                    completed_by_user_id: number | null;
                    created_at: string;
                    updated_at: string;
                    version: number;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    external_id?: string | undefined;
                    assignee_name: string;
                    creator_name: string;
                    table_name: string | null;
                    record_title: string | null;
                    comment_count: number;
                })[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                title: string;
                details?: string | null | undefined;
                assignee_user_id?: number | null | undefined;
                assignee_email?: string | null | undefined;
                assigner_user_id?: number | null | undefined;
                assigner_email?: string | null | undefined;
                notify_assigner?: boolean | null | undefined;
                due_date?: string | null | undefined;
                due_time?: string | null | undefined;
                reminder_offset_mins?: number | null | undefined;
                reminder_time?: string | null | undefined;
                attachments?: {
                    name?: string | null | undefined;
                    size?: number | null | undefined;
                    type?: string | null | undefined;
                    host?: string | null | undefined;
                    path?: string | null | undefined;
                    staged_token: string;
                }[] | null | undefined;
                external_id?: string | null | undefined;
                upsert?: boolean | null | undefined;
            };
            output: {
                id: number;
                creator_user_id: number;
                assignee_user_id: number;
                account_id: number;
                space_id: number | null;
                table_id: number | null;
                record_id: number | null;
                title: string;
                details: string | null;
                due_date: string | null;
                due_time: string | null;
                reminder_offset_mins: number | null;
                reminder_time: string | null;
                reminder_at: string | null;
                reminder_sent_at: string | null;
                status: "done" | "open";
                completed_at: string | null;
                completed_by_user_id: number | null;
                created_at: string;
                updated_at: string;
                version: number;
                attachments: {
                    path: string;
                    name: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                external_id?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        createMany: TRPCMutationProcedure<{
            input: {
                tasks: {
                    title: string;
                    details?: string | null | undefined;
                    assignee_user_id?: number | null | undefined;
                    assignee_email?: string | null | undefined;
                    assigner_user_id?: number | null | undefined;
                    assigner_email?: string | null | undefined;
                    notify_assigner?: boolean | null | undefined;
                    due_date?: string | null | undefined;
                    due_time?: string | null | undefined;
                    reminder_offset_mins?: number | null | undefined;
                    reminder_time?: string | null | undefined;
                    attachments?: {
                        name?: string | null | undefined;
                        size?: number | null | undefined;
                        type?: string | null | undefined;
                        host?: string | null | undefined;
                        path?: string | null | undefined;
                        staged_token: string;
                    }[] | null | undefined;
                    external_id?: string | null | undefined;
                    upsert?: boolean | null | undefined;
                }[];
            };
            output: {
                rows: {
                    ok: boolean;
                    task?: {
                        id: number;
                        creator_user_id: number;
                        assignee_user_id: number;
                        account_id: number;
                        space_id: number | null;
                        table_id: number | null;
                        record_id: number | null;
                        title: string;
                        details: string | null;
                        due_date: string | null;
                        due_time: string | null;
                        reminder_offset_mins: number | null;
                        reminder_time: string | null;
                        reminder_at: string | null;
                        reminder_sent_at: string | null;
                        status: "done" | "open";
                        completed_at: string | null;
                        completed_by_user_id: number | null;
                        created_at: string;
                        updated_at: string;
                        version: number;
                        attachments: {
                            path: string;
                            name: string;
                            size: number;
                            type: string;
                            host: string;
                        }[];
                        external_id?: string | undefined;
                    } | undefined;
                    message?: string | undefined;
                    code?: string | undefined;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        badgeCount: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                count: number;
                overdue: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        comments: TRPCBuiltRouter<{
            ctx: CallContext;
            meta: object;
            errorShape: ErrorShape;
            transformer: false;
        }, TRPCDecorateCreateRouterOptions<{
            list: TRPCQueryProcedure<{
                input: {
                    limit?: number | null | undefined;
                    offset?: number | null | undefined;
                    task_id: number;
                };
                output: {
                    rows: {
                        id: number;
                        task_id: number;
                        content: string;
                        user_id: number;
                        user_name: string;
                        api_key_id: number | null;
                        attachments: {
                            path: string;
                            name: string;
                            size: number;
                            type: string;
                            host: string;
                        }[];
                        created_at: string;
                        updated_at: string | null;
                    }[];
                    total?: number | undefined;
                    next_cursor?: string | undefined;
                };
                meta: object;
                errorShape: ErrorShape;
            }>;
            create: TRPCMutationProcedure<{
                input: {
                    content?: string | null | undefined;
                    attachments?: {
                        path: string;
                        name?: string | null | undefined;
                        size?: number | null | undefined;
                        type?: string | null | undefined;
                        host?: string | null | undefined;
                    }[] | null | undefined;
                    task_id: number;
                };
                output: {
                    id: number;
                    task_id: number;
                    content: string;
                    user_id: number;
                    user_name: string;
                    api_key_id: number | null;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    created_at: string;
                    updated_at: string | null;
                };
                meta: object;
                errorShape: ErrorShape;
            }>;
            upload: TRPCMutationProcedure<{
                input: {
                    name: string;
                    type?: string | null | undefined;
                    data: string;
                    task_id: number;
                };
                output: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    host: string;
                };
                meta: object;
                errorShape: ErrorShape;
            }>;
            update: TRPCMutationProcedure<{
                input: {
                    content: string;
                    attachments?: null | undefined;
                    task_id: number;
                    comment_id: number;
                };
                output: {
                    id: number;
                    task_id: number;
                    content: string;
                    user_id: number;
                    user_name: string;
                    api_key_id: number | null;
                    attachments: {
                        path: string;
                        name: string;
                        size: number;
                        type: string;
                        host: string;
                    }[];
                    created_at: string;
                    updated_at: string | null;
                };
                meta: object;
                errorShape: ErrorShape;
            }>;
            delete: TRPCMutationProcedure<{
                input: {
                    task_id: number;
                    comment_id: number;
                };
                output: {
                    ok: true;
                };
                meta: object;
                errorShape: ErrorShape;
            }>;
        }>>;
    }>>;
    email: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        send: TRPCMutationProcedure<{
            input: {
                tableId: number;
                recordId: number;
                smtpIntegrationId: number;
                fromIdentity: {
                    name?: string | null | undefined;
                    email: string;
                };
                to: string[];
                cc?: string[] | null | undefined;
                bcc?: string[] | null | undefined;
                subject?: string | null | undefined;
                body?: string | null | undefined;
                signatureId?: number | null | undefined;
                attachments?: {
                    name: string;
                    path: string;
                    type?: string | null | undefined;
                    size?: number | null | undefined;
                    host?: string | null | undefined;
                }[] | null | undefined;
                sendAt?: string | null | undefined;
                replyTo?: number | null | undefined;
            };
            output: {
                id: number;
                status: "queued";
                comment: {
                    id: number;
                    type: "email_out";
                    metadata: {
                        queuedAt: string;
                        status: "bounced" | "dropped" | "queued" | "read" | "sent";
                        from: {
                            name: string;
                            email: string;
                        };
                        to: string[];
                        cc: string[];
                        bcc: string[];
                        subject: string;
                        messageId: string;
                        smtpIntegrationId: number;
                        signatureId: number | null;
                        sendAt?: string | null | undefined;
                        inline?: {
                            cid: string;
                            path: string;
                        }[] | undefined;
                        error: {
                            code: string;
                            enhanced: string | null;
                            message: string;
                        } | null;
                        recipients: {
                            email: string;
                            kind: "bcc" | "cc" | "to";
                            status: "bounced" | "dropped" | "queued" | "sent" | "unknown";
                            error: {
                                code: string;
                                enhanced: string | null;
                                message: string;
                            } | null;
                            bounce?: {
                                kind: "block" | "hard" | "policy" | "soft";
                                reason: string;
                            } | undefined;
                            delay?: {
                                code: string;
                                enhanced: string | null;
                                message: string;
                                at: string;
                            } | undefined;
                            complaint?: {
                                at: string;
                                type: string;
                            } | undefined;
                            receipt?: {
                                at: string;
                                disposition: string;
                            } | undefined;
                        }[];
                        unresolved: string[];
                        remoteImages?: number | undefined;
                        attachmentsLeftOut?: number | undefined;
                        bouncedAt: string | null;
                        droppedAt: string | null;
                        readAt: string | null;
                        sentAt: string | null;
                    };
                };
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        preview: TRPCQueryProcedure<{
            input: {
                tableId: number;
                recordId: number;
                smtpIntegrationId: number;
                fromIdentity: {
                    name?: string | null | undefined;
                    email: string;
                };
                to: string[];
                cc?: string[] | null | undefined;
                bcc?: string[] | null | undefined;
                subject?: string | null | undefined;
                body?: string | null | undefined;
                signatureId?: number | null | undefined;
                attachments?: {
                    name: string;
                    path: string;
                    type?: string | null | undefined;
                    size?: number | null | undefined;
                    host?: string | null | undefined;
                }[] | null | undefined;
                sendAt?: string | null | undefined;
                replyTo?: number | null | undefined;
            };
            output: {
                subject: string;
                html: string;
                text: string;
                unresolved: string[];
                problems: string[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        recordContext: TRPCQueryProcedure<{
            input: {
                tableId: number;
                recordId: number;
            };
            output: {
                emails: string[];
                fields: {
                    id: string;
                    name: string;
                }[];
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        smtpOptions: TRPCQueryProcedure<{
            input: {
                tableId: number;
            };
            output: {
                rows: {
                    id: number;
                    label: string;
                    fromDomains: string[];
                    fromIdentities: {
                        name: string;
                        email: string;
                    }[];
                    disablePixel: boolean;
                    failing: {
                        since: string;
                        message: string;
                    } | null;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        cancel: TRPCMutationProcedure<{
            input: {
                comment_id: number;
                discard?: boolean | null | undefined;
            };
            output: {
                ok: boolean;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        retry: TRPCMutationProcedure<{
            input: {
                comment_id: number;
            };
            output: {
                id: number;
                table_id: number;
                record_id: number;
                type: "comment" | "email_in" | "email_out";
                user_id: number;
                user_name: string;
                api_key_id: number | null;
                content: string;
                attachments: {
                    name: string;
                    path: string;
                    size: number;
                    type: string;
                    host: string;
                }[];
                metadata: Record<string, unknown> | null;
                created_at: string;
                updated_at: string | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        opens: TRPCQueryProcedure<{
            input: {
                comment_id: number;
            };
            output: {
                rows: {
                    opened_at: string;
                    class: "human" | "image_proxy" | "prefetch" | "scanner";
                    user_agent: string | null;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    inbound: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                limit?: number | null | undefined;
                cursor?: string | null | undefined;
            };
            output: {
                rows: {
                    id: number;
                    received_at: string;
                    from: {
                        name: string;
                        email: string;
                    };
                    subject: string;
                    verdict: "automatic" | "bounced" | "comment" | "dropped" | "duplicate" | "pending";
                    reason: string | null;
                    comment_ids: number[];
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    signatures: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: Record<string, never> | undefined;
            output: {
                rows: {
                    id: number;
                    name: string;
                    html: string;
                    is_default: boolean;
                    created_at: string;
                    updated_at: string;
                    version: number;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                name: string;
                html: string;
                is_default?: boolean | null | undefined;
            };
            output: {
                id: number;
                name: string;
                html: string;
                is_default: boolean;
                created_at: string;
                updated_at: string;
                version: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                id: number;
                name?: string | undefined;
                html?: string | undefined;
                is_default?: boolean | undefined;
            };
            output: {
                id: number;
                name: string;
                html: string;
                is_default: boolean;
                created_at: string;
                updated_at: string;
                version: number;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    smtp: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                space_id: number;
            };
            output: {
                rows: {
                    label: string;
                    host: string;
                    port: number;
                    tls: "none" | "starttls" | "tls";
                    username: string | null;
                    from_domains: string[];
                    disable_pixel: boolean;
                    reply_as_envelope: boolean;
                    max_connections: number;
                    rate_per_minute: number | null;
                    table_ids: number[] | null;
                    id: number;
                    space_id: number;
                    from_identities: {
                        name: string;
                        email: string;
                    }[];
                    dkim: {
                        domain: string;
                        selector: string;
                        public_key: string;
                    } | null;
                    dkim_record: {
                        name: string;
                        type: "TXT";
                        value: string;
                    } | null;
                    failing: {
                        since: string;
                        message: string;
                    } | null;
                    has_password: boolean;
                    created_at: string;
                    updated_at: string;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        create: TRPCMutationProcedure<{
            input: {
                space_id: number;
                label: string;
                host: string;
                port: number;
                tls?: "none" | "starttls" | "tls" | null | undefined;
                username?: string | null | undefined;
                password?: string | null | undefined;
                dkim?: {
                    domain: string;
                    selector: string;
                } | null | undefined;
                from_domains?: string[] | null | undefined;
                from_identities?: {
                    name: string;
                    email: string;
                }[] | null | undefined;
                disable_pixel?: boolean | null | undefined;
                reply_as_envelope?: boolean | null | undefined;
                max_connections?: number | null | undefined;
                rate_per_minute?: number | null | undefined;
                table_ids?: number[] | null | undefined;
            };
            output: {
                label: string;
                host: string;
                port: number;
                tls: "none" | "starttls" | "tls";
                username: string | null;
                from_domains: string[];
                disable_pixel: boolean;
                reply_as_envelope: boolean;
                max_connections: number;
                rate_per_minute: number | null;
                table_ids: number[] | null;
                id: number;
                space_id: number;
                from_identities: {
                    name: string;
                    email: string;
                }[];
                dkim: {
                    domain: string;
                    selector: string;
                    public_key: string;
                } | null;
                dkim_record: {
                    name: string;
                    type: "TXT";
                    value: string;
                } | null;
                failing: {
                    since: string;
                    message: string;
                } | null;
                has_password: boolean;
                created_at: string;
                updated_at: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        update: TRPCMutationProcedure<{
            input: {
                label?: string | undefined;
                host?: string | undefined;
                port?: number | undefined;
                tls?: "none" | "starttls" | "tls" | undefined;
                username?: string | null | undefined;
                from_domains?: string[] | undefined;
                from_identities?: {
                    name: string;
                    email: string;
                }[] | undefined;
                disable_pixel?: boolean | undefined;
                reply_as_envelope?: boolean | undefined;
                max_connections?: number | undefined;
                rate_per_minute?: number | null | undefined;
                table_ids?: number[] | null | undefined;
                password?: string | null | undefined;
                dkim?: {
                    domain: string;
                    selector: string;
                } | null | undefined;
                id: number;
            };
            output: {
                label: string;
                host: string;
                port: number;
                tls: "none" | "starttls" | "tls";
                username: string | null;
                from_domains: string[];
                disable_pixel: boolean;
                reply_as_envelope: boolean;
                max_connections: number;
                rate_per_minute: number | null;
                table_ids: number[] | null;
                id: number;
                space_id: number;
                from_identities: {
                    name: string;
                    email: string;
                }[];
                dkim: {
                    domain: string;
                    selector: string;
                    public_key: string;
                } | null;
                dkim_record: {
                    name: string;
                    type: "TXT";
                    value: string;
                } | null;
                failing: {
                    since: string;
                    message: string;
                } | null;
                has_password: boolean;
                created_at: string;
                updated_at: string;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        delete: TRPCMutationProcedure<{
            input: {
                id: number;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        test: TRPCMutationProcedure<{
            input: {
                id: number;
            };
            output: {
                ok: boolean;
                error: {
                    code: string;
                    enhanced: string | null;
                    message: string;
                } | null;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    suppressions: TRPCBuiltRouter<{
        ctx: CallContext;
        meta: object;
        errorShape: ErrorShape;
        transformer: false;
    }, TRPCDecorateCreateRouterOptions<{
        list: TRPCQueryProcedure<{
            input: {
                limit?: number | null | undefined;
                offset?: number | null | undefined;
            };
            output: {
                rows: {
                    email: string;
                    reason: "complaint" | "hard_bounce" | "manual";
                    since: string;
                    comment_id: number | null;
                }[];
                total?: number | undefined;
                next_cursor?: string | undefined;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
        remove: TRPCMutationProcedure<{
            input: {
                email: string;
            };
            output: {
                ok: true;
            };
            meta: object;
            errorShape: ErrorShape;
        }>;
    }>>;
    events: TRPCSubscriptionProcedure<{
        input: {
            table_ids?: number[] | null | undefined;
            lastEventId?: string | null | undefined;
        };
        output: AsyncIterable<TrackedData<{
            space_id?: number | undefined;
            table_id?: number | undefined;
            record_id?: number | undefined;
            task_id?: number | undefined;
            comment_id?: number | undefined;
            change_id?: number | null | undefined;
            user_id?: number | null | undefined;
            fields?: string[] | undefined;
            count?: number | undefined;
            view_id?: number | undefined;
            id: number;
            type: "comment.created" | "comment.deleted" | "comment.updated" | "email.status" | "members.changed" | "notification" | "record.created" | "record.deleted" | "record.restored" | "record.updated" | "records.changed" | "table.deleted" | "table.updated" | "task.created" | "task.deleted" | "task.done" | "task.undone" | "task.updated" | "view.created" | "view.deleted" | "view.updated";
            at: string;
        } | {
            id: number;
            type: "ready" | "reset";
            at: string;
        }>, void, any>;
        meta: object;
        errorShape: ErrorShape;
    }>;
}>>
