/** A question that shows what the inbox can do, asked through the same API as any other. */

import type { AskInput } from "../api.ts";

export const DEMO_QUESTION: AskInput = {
  agent: "demo",
  context: {
    cwd: "/home/you/projects/shop",
    title: "Add sign-in to the shop",
    excerpt:
      "The shop has no accounts yet. I can add them in either of two ways; the choice decides the **database schema**.",
  },
  questions: [
    {
      header: "Sign-in",
      question: "How should people sign in to the shop?",
      options: [
        {
          label: "E-mail link",
          description: "No passwords to store; needs a mail server",
          preview:
            "POST /sign-in      { email }\nGET  /sign-in/:code -> session\n\n+-----------+      +--------+\n| browser   | ---> | mailer |\n+-----------+      +--------+",
        },
        {
          label: "Password",
          description: "Works offline; we must store hashes",
          preview:
            "POST /sign-in { email, password }\n\nusers\n  id        uuid\n  email     text unique\n  password  text  -- argon2id",
        },
      ],
    },
  ],
};
