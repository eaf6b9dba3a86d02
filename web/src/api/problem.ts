import type { FieldError, Question } from "./types.ts";

/** A refusal of the hub, or (with status 0) no answer at all. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly errors: FieldError[] = [],
    /** With `already_settled`: the question with the outcome that won. */
    readonly question: Question | null = null,
  ) {
    super(detail);
    this.name = "Problem";
  }

  /** Whether nobody knows if the request arrived. */
  get unreachable(): boolean {
    return this.status === 0;
  }

  static async of(response: Response): Promise<Problem> {
    const fallback = `the hub answered ${response.status}`;
    try {
      const body = (await response.json()) as {
        code?: string;
        title?: string;
        detail?: string;
        errors?: FieldError[];
        question?: Question;
      };
      const detail = body.detail ?? body.title ?? fallback;
      return new Problem(response.status, body.code ?? "unknown", detail, body.errors ?? [], body.question ?? null);
    } catch {
      return new Problem(response.status, "unknown", fallback);
    }
  }
}
