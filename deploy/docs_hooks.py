"""What mkdocs does for the site of docs/ beyond mkdocs.yml."""

import os
import re

# A browser loads nothing for a page but files of the site, whatever a script asks for.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
    "script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:\">"
)


def on_config(config):
    """Makes the navigation: the sections of index.md, with the pages that each links to first."""
    nav, sections, seen = [{"Index": "index.md"}], None, set()
    with open(os.path.join(config["docs_dir"], "index.md"), encoding="utf-8") as index:
        text = index.read()
    for heading, title, page in re.findall(r"^##+ (.*)$|\[([^]]+)\]\(([^)#:]+\.md)\)", text, flags=re.M):
        if heading:
            sections = []
            nav.append({heading: sections})
        elif page not in seen and not page.startswith(".."):
            seen.add(page)
            sections.append({title.replace("`", ""): page})
    config["nav"] = [entry for entry in nav if all(entry.values())]
    return config


def on_page_markdown(markdown, page, config, files):
    """Turns links to files of the source tree outside docs/ into their names."""

    def named(match):
        text, target = match.groups()
        path = os.path.normpath(os.path.join(config["docs_dir"], os.path.dirname(page.file.src_path), target))
        if path.startswith(config["docs_dir"]):
            return match.group(0)
        name = os.path.relpath(path, os.path.dirname(config["docs_dir"]))
        return f"`{name}`" if name == text.strip("`") else f"{text} (`{name}`)"

    return re.sub(r"\[([^]]*)\]\((\.\./[^)#\s]*)(?:#[^)\s]*)?\)", named, markdown)


def with_policy(output):
    return output.replace("<head>", "<head>\n    " + POLICY, 1)


def on_post_page(output, page, config):
    return with_policy(output)


def on_post_template(output_content, template_name, config):
    return with_policy(output_content)
