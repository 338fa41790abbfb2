package carillon.api.deadletters;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Query;
import carillon.api.json.Fields;
import carillon.api.tasks.TaskFields;
import carillon.model.Echo;
import carillon.model.task.FailureKind;
import carillon.store.deadletters.DeadLetterFilter;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the filter of dead letters from the query or the body of a request. */
final class DeadLetterFields {

  private static final int MAX_TEXT = 200;
  private static final int MAX_IDS = 10_000;
  private static final int MIN_STATUS = 100;
  private static final int MAX_STATUS = 999;
  private static final Pattern GROUP = Pattern.compile("[0-9a-f]{16}");
  private static final String GROUP_RULE = "must be a group from GET /v1/dead-letters/groups";

  private DeadLetterFields() {}

  static DeadLetterFilter read(Query query, @Nullable String type) {
    String group = query.text("group", MAX_TEXT);
    if (group != null && !GROUP.matcher(group).matches()) {
      throw Query.wrong("group", ErrorCode.INVALID_VALUE, GROUP_RULE);
    }
    return new DeadLetterFilter(
        type,
        failure(query),
        status(query),
        query.someText("error", MAX_TEXT),
        query.time("diedAfter"),
        query.time("diedBefore"),
        query.someText("key", Limits.KEY_CHARS),
        query.metadata(),
        group,
        List.of());
  }

  static @Nullable Integer status(Query query) {
    return query.integer("status", MIN_STATUS, MAX_STATUS);
  }

  static @Nullable FailureKind failure(Query query) {
    String text = query.text("failure", MAX_TEXT);
    return text == null
        ? null
        : FailureKind.labelled(text)
            .orElseThrow(
                () ->
                    Query.wrong(
                        "failure",
                        ErrorCode.INVALID_VALUE,
                        "is " + Echo.of(text) + ", must be one of " + failures()));
  }

  static DeadLetterFilter read(Fields fields) {
    // A script that found no ids must not select every letter.
    List.of("error", "key", "metadata", "ids").forEach(fields::notEmpty);
    String failure = fields.text("failure", MAX_TEXT);
    Optional<FailureKind> kind = failure == null ? Optional.empty() : FailureKind.labelled(failure);
    if (failure != null && kind.isEmpty()) {
      fields.wrong("failure", ErrorCode.INVALID_VALUE, "must be one of " + failures());
    }
    String group = fields.text("group", MAX_TEXT);
    if (group != null && !GROUP.matcher(group).matches()) {
      fields.wrong("group", ErrorCode.INVALID_VALUE, GROUP_RULE);
    }
    return new DeadLetterFilter(
        fields.typeName("type"),
        kind.orElse(null),
        fields.integer("status", MIN_STATUS, MAX_STATUS),
        fields.text("error", MAX_TEXT),
        fields.time("diedAfter"),
        fields.time("diedBefore"),
        fields.text("key", Limits.KEY_CHARS),
        TaskFields.metadata(fields),
        group,
        fields.ids("ids", MAX_IDS));
  }

  private static String failures() {
    return Arrays.stream(FailureKind.values())
        .map(FailureKind::label)
        .collect(Collectors.joining(", "));
  }
}
