package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.util.List;

/**
 * A dead task with its history; a line of an archive.
 *
 * @param attempts before the last one, which the task's own row holds; oldest first
 * @param transitions oldest first
 */
public record ArchivedTask(
    TaskView task, List<TaskStory.Attempt> attempts, List<TaskStory.Transition> transitions) {

  /** Attempts, and transitions, that are archived per task: the newest. */
  public static final int MAX_HISTORY = 1_000;

  public ArchivedTask {
    attempts = List.copyOf(attempts);
    transitions = List.copyOf(transitions);
  }

  public TaskId id() {
    return task.id();
  }
}
