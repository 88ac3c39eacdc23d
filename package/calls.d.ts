/* The types of a call, by its method and path, from the schema. */

import type { paths } from "./schema.js";

export type CallOptions = { signal?: AbortSignal };

/** The schema's paths that have this method. */
type PathsOf<Method extends string> = {
  [Template in keyof paths]: OperationAt<Template, Method> extends never ? never : Template;
}[keyof paths];

type OperationAt<Template extends keyof paths, Method extends string> =
  paths[Template] extends Record<Lowercase<Method>, infer Operation> ? Operation : never;

/** Whether a path is one of a template's, as `/users/7` is of `/users/{user_id}`. */
type Fits<Path, Template> = Template extends `${infer Part}/${infer Parts}`
  ? Path extends `${infer Segment}/${infer Segments}`
    ? IsPart<Segment, Part> extends true ? Fits<Segments, Parts> : false
    : false
  : Path extends `${string}/${string}` ? false : IsPart<Path, Template>;

type IsPart<Segment, Part> = Part extends `{${string}}` ? true : Segment extends Part ? true : false;

type WithoutQuery<Address extends string> = Address extends `${infer Path}?${string}` ? Path : Address;

/** The template of a path: itself, or one with parameters. */
type TemplateOf<Path extends string, Method extends string> = Path extends PathsOf<Method>
  ? Path
  : { [Template in PathsOf<Method>]: Fits<Path, Template> extends true ? Template : never }[PathsOf<Method>];

type OperationOf<Template, Method extends string> = Template extends keyof paths ? OperationAt<Template, Method> : never;

/** The operation of the schema; `unknown` for a method or path that is known only at run time. */
type Operation<Method extends string, Address extends string> = string extends Method | Address
  ? unknown
  : OperationOf<TemplateOf<WithoutQuery<Address>, Method>, Method>;

/** An address that is right for the method; otherwise those that are, which is what an error shows. */
export type Path<Method extends string, Address extends string> =
  [Operation<Method, Address>] extends [never] ? PathsOf<Method> : Address;

type JSONOf<Part> = Part extends { content: { "application/json": infer Body } } ? Body : never;

type AnyArguments = [body?: unknown, options?: CallOptions];

/** The body, which may be left out where the schema lets it, and the options. */
export type Arguments<Method extends string, Address extends string> =
  [Operation<Method, Address>] extends [never]
    ? AnyArguments // the path is the error
    : Operation<Method, Address> extends { requestBody: infer Body }
      ? [body: JSONOf<Body>, options?: CallOptions]
      : Operation<Method, Address> extends { requestBody?: infer Body }
        ? [body?: JSONOf<Body>, options?: CallOptions]
        : AnyArguments;

type Success<Responses> = Responses[keyof Responses & (200 | 201 | 204)];

/** What a call resolves to: the answer that was named, or the schema's; null for a 204. */
export type Result<Answer, Method extends string, Address extends string> = [Answer] extends [never]
  ? Operation<Method, Address> extends { responses: infer Responses }
    ? Success<Responses> extends { content?: never } ? null : JSONOf<Success<Responses>>
    : any
  : NoInfer<Answer>;
