package carillon.chaos.report;

import java.util.ArrayList;
import java.util.List;

/** Markdown tables that are readable as plain text too. */
final class MarkdownTable {

  private MarkdownTable() {}

  static String of(List<String> headings, List<List<String>> rows) {
    List<List<String>> all = new ArrayList<>();
    all.add(headings);
    all.addAll(rows);
    int[] widths = new int[headings.size()];
    for (List<String> row : all) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], cell(row.get(i)).length());
      }
    }
    StringBuilder text = new StringBuilder(line(headings, widths));
    for (int width : widths) {
      text.append('|').append("-".repeat(width + 2));
    }
    text.append("|\n");
    rows.forEach(row -> text.append(line(row, widths)));
    return text.toString();
  }

  private static String cell(String text) {
    return text.replace("|", "\\|").replace("\n", " ");
  }

  private static String line(List<String> row, int[] widths) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < widths.length; i++) {
      String cell = cell(row.get(i));
      text.append("| ").append(cell).append(" ".repeat(widths[i] - cell.length() + 1));
    }
    return text.append("|\n").toString();
  }
}
