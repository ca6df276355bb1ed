// Questions to the kernel, each with its answer.

type Content = Record<string, unknown>;

interface Question {
  field: string;
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

export class KernelLine {
  private readonly questions = new Map<number, Question>();
  private count = 0;
  private lost = "";

  constructor(private readonly send: (content: Content) => void) {}

  /** Sends a request; resolves to the field of that name of the answer. */
  ask<Answer>(content: Content, field: string): Promise<Answer> {
    if (this.lost) return Promise.reject(new Error(this.lost));
    const number = (this.count += 1);
    return new Promise<Answer>((resolve, reject) => {
      this.questions.set(number, { field, resolve: (answer) => resolve(answer as Answer), reject });
      this.send({ ...content, number });
    });
  }

  /** The kernel is gone: pending and further requests are rejected with `why`. */
  lose(why: string): void {
    this.lost = why;
    for (const { reject } of this.questions.values()) reject(new Error(why));
    this.questions.clear();
  }

  /** Takes an answer in; false if nobody asked for it here. */
  settle(content: Content): boolean {
    const number = Number(content["number"]);
    const question = this.questions.get(number);
    if (!question) return false;
    this.questions.delete(number);
    if (content["kind"] === "refused") question.reject(new Error(String(content["message"])));
    else question.resolve(content[question.field]);
    return true;
  }
}
