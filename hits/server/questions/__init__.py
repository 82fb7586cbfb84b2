"""The questions that requesters bring as pages: a QuestionForm becomes HTML (`form`), HTML is made safe (`safe_html`).

    question, page = read_question(hit.question, "Send")     # hits.server.questions.question
    check_shown(question)                                    # refuses what no page can show, with the reason

The protocol asks before it takes a hit, the pages when they show it.
"""
